import { rowFunctions, type RecordRow } from '../records.js';
import { run, table, type Scope } from '../scope.js';

/** Whom a grant's tokens are about: the client itself, or people who let it act for them. */
export const subjectTypes = ['client', 'user'] as const;
export type SubjectType = (typeof subjectTypes)[number];

/** Whether a client may exchange people's tokens (RFC 8693), and what the new ones say: who acts (`delegation`), or nothing of that (`impersonation`). */
export const tokenExchanges = ['none', 'delegation', 'impersonation'] as const;
export type TokenExchange = (typeof tokenExchanges)[number];

/** A row of `client_grants`: which scopes of a resource a client may have for itself, or may ask people for. */
export type ClientGrantRow = RecordRow & {
  client_id: string;
  api_resource_id: string;
  subject_type: SubjectType;
  scopes: string[];
  token_exchange: TokenExchange;
  /** Identifiers of the API resources whose tokens the client may bring, beside its own. */
  subject_audiences: string[];
  /** Whether the client may bring identity assertions for the API resource (ID-JAG). */
  assertions: boolean;
};

export const findClientGrant = async (
  scope: Scope,
  client_id: string,
  api_resource_id: string,
  subject_type: SubjectType,
): Promise<ClientGrantRow | null> =>
  (await table<ClientGrantRow>(scope, 'client_grants').where({ client_id, api_resource_id, subject_type }).first()) ?? null;

/** Identifiers of the API resources for which the client has a grant for itself, at most `limit` by name. */
export const listGrantedIdentifiers = async (scope: Scope, client_id: string, limit: number): Promise<string[]> =>
  (await table<ClientGrantRow>(scope, 'client_grants')
    .join('api_resources as a', (on) =>
      on.on('a.environment_id', 'client_grants.environment_id').andOn('a.id', 'client_grants.api_resource_id'),
    )
    .where({ client_id, subject_type: 'client' })
    .orderBy('a.identifier')
    .limit(limit)
    .pluck('a.identifier')) as string[];

export const {
  insert: insertClientGrant,
  update: updateClientGrant,
  remove: deleteClientGrant,
} = rowFunctions<ClientGrantRow>('client_grants');

/**
 * Gives clients that came with the service, and hold every one of some scopes of a resource for themselves, all of the wanted ones: those that an
 * upgrade brought. @returns how many grants changed
 */
export async function widenSystemGrants(
  scope: Scope,
  api_resource_id: string,
  change: { held: readonly string[]; all: readonly string[]; at: Date },
): Promise<number> {
  scope.touched.add('client_grants');
  const text = `update client_grants g set scopes = $4, updated_at = $5, version = g.version + 1
      from clients c
      where g.environment_id = $1 and g.api_resource_id = $2 and g.subject_type = 'client' and g.scopes @> $3::text[]
        and c.environment_id = g.environment_id and c.id = g.client_id and c.is_system
      returning g.id`;
  const rows = await run(scope, { name: 'client_grants.widen_system', text }, [
    api_resource_id,
    [...change.held],
    [...change.all],
    change.at,
  ]);
  return rows.length;
}

/** Takes the API resource of the identifier out of those whose tokens clients may exchange. */
export async function removeSubjectAudience(scope: Scope, identifier: string, at: Date): Promise<void> {
  scope.touched.add('client_grants');
  const text = `update client_grants set subject_audiences = array_remove(subject_audiences, $2), updated_at = $3, version = version + 1
    where environment_id = $1 and $2 = any (subject_audiences)`;
  await run(scope, { name: 'client_grants.remove_subject_audience', text }, [identifier, at]);
}

export async function removeScopeFromClientGrants(scope: Scope, api_resource_id: string, name: string, at: Date): Promise<void> {
  scope.touched.add('client_grants');
  const text = `update client_grants set scopes = array_remove(scopes, $3), updated_at = $4, version = version + 1
    where environment_id = $1 and api_resource_id = $2 and $3 = any (scopes)`;
  await run(scope, { name: 'client_grants.remove_scope', text }, [api_resource_id, name, at]);
}

/** Identifiers of the API resources whose tokens the client may bring to an exchange of any of its grants. */
export async function listSubjectAudiences(scope: Scope, client_id: string): Promise<string[]> {
  const text = `select distinct audience from client_grants g, unnest(g.subject_audiences) audience
    where g.environment_id = $1 and g.client_id = $2 and g.token_exchange <> 'none'`;
  const rows = await run<{ audience: string }>(scope, { name: 'client_grants.subject_audiences', text }, [client_id]);
  return rows.map(({ audience }) => audience);
}
