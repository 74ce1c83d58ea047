import type { Detail } from '../../lib/authorization-details.js';
import { remove, run, table, type Scope } from '../scope.js';
import { auditColumnsSql, type CountedAuditLogRow } from './audit_logs.js';

/** A row of `consents`: what a person allowed an application that isn't first-party. */
export type ConsentRow = {
  environment_id: string;
  id: string;
  user_id: string;
  client_id: string;
  /** Every scope that was allowed, for showing. */
  scopes: string[];
  /** Identifiers of the API resources among it. */
  resources: string[];
  /** Scopes by API resource; under the empty name those without one. */
  resource_scopes: Record<string, string[]>;
  /** What the client was when it was allowed; null but for clients of metadata documents. */
  client_digest: Buffer | null;
  /** The details that aren't asked about again, each with the id of its type. */
  authorization_details: readonly { readonly type_id: string; readonly detail: Detail }[];
  granted_at: Date;
  updated_at: Date;
};

export type ConsentWithClient = ConsentRow & {
  client_name: string;
  client_verified: boolean;
  client_logo_uri: string | null;
  client_initiate_login_uri: string | null;
};

export async function findConsent(scope: Scope, user_id: string, client_id: string): Promise<ConsentRow | null> {
  const rows = await run<ConsentRow>(
    scope,
    { name: 'consents.find', text: 'select * from consents where environment_id = $1 and user_id = $2 and client_id = $3' },
    [user_id, client_id],
  );
  return rows[0] ?? null;
}

/**
 * Adds the scopes to what the user allowed the client, or puts them in its place where the client was something else then; `resource` is empty for scopes
 * without one.
 * @param audit an entry that is appended along
 * @returns whether there was none before
 */
export async function addConsent(
  scope: Scope,
  consent: Pick<ConsentRow, 'id' | 'user_id' | 'client_id' | 'client_digest'> & { resource: string; scopes: readonly string[]; at: Date },
  audit: CountedAuditLogRow | null = null,
): Promise<boolean> {
  const text = `with audit as (
        insert into audit_logs (${auditColumnsSql}) select ${auditColumnsSql} from jsonb_populate_recordset(null::audit_logs, $9::jsonb))
      insert into consents as c (environment_id, user_id, client_id, scopes, resources, resource_scopes, granted_at, updated_at, id,
        client_digest)
      values ($1, $2, $3, $4::text[], array_remove(array[$5::text], ''), jsonb_build_object($5::text, to_jsonb($4::text[])), $6, $6, $7, $8)
      on conflict (environment_id, user_id, client_id) do update set
        scopes = case when c.client_digest is distinct from excluded.client_digest then excluded.scopes
          else array(select distinct unnest(c.scopes || excluded.scopes)) end,
        resources = case when c.client_digest is distinct from excluded.client_digest then excluded.resources
          else array(select distinct unnest(c.resources || excluded.resources)) end,
        resource_scopes = case when c.client_digest is distinct from excluded.client_digest then excluded.resource_scopes
          else c.resource_scopes || jsonb_build_object($5::text, to_jsonb(array(
            select jsonb_array_elements_text(coalesce(c.resource_scopes -> $5::text, '[]')) union select unnest($4::text[])))) end,
        authorization_details = case when c.client_digest is distinct from excluded.client_digest then '[]' else c.authorization_details end,
        client_digest = excluded.client_digest,
        updated_at = excluded.updated_at
      returning xmax = 0 as is_new`;
  const rows = await run<{ is_new: boolean }>(scope, { name: 'consents.add', text }, [
    consent.user_id,
    consent.client_id,
    consent.scopes,
    consent.resource,
    consent.at,
    consent.id,
    consent.client_digest,
    JSON.stringify(audit === null ? [] : [audit]),
  ]);
  return rows[0]?.is_new === true;
}

/** Puts the details in the place of those that aren't asked about again. */
export async function setConsentedDetails(
  scope: Scope,
  { user_id, client_id }: Pick<ConsentRow, 'user_id' | 'client_id'>,
  details: ConsentRow['authorization_details'],
): Promise<void> {
  const text = `update consents set authorization_details = $4::jsonb where environment_id = $1 and user_id = $2 and client_id = $3`;
  await run(scope, { name: 'consents.set_details', text }, [user_id, client_id, JSON.stringify(details)]);
}

/** Deletes the user's consent to the client; false when there was none. */
export const deleteConsent = async (scope: Scope, user_id: string, client_id: string): Promise<boolean> =>
  (await remove<ConsentRow>(scope, 'consents', { user_id, client_id })) > 0;

/** Deletes all of the user's consents; returns how many there were. */
export const deleteConsentsOfUser = async (scope: Scope, user_id: string): Promise<number> =>
  remove<ConsentRow>(scope, 'consents', { user_id });

/** The user's consents with their clients, newest first. */
export async function listConsentsOfUser(scope: Scope, user_id: string): Promise<ConsentWithClient[]> {
  return table<ConsentRow>(scope, 'consents')
    .join('clients', (join) => {
      join.on('clients.environment_id', 'consents.environment_id').andOn('clients.id', 'consents.client_id');
    })
    .where('consents.user_id', user_id)
    .orderBy('consents.granted_at', 'desc')
    .select(
      'consents.*',
      'clients.name as client_name',
      'clients.verified as client_verified',
      // Nobody knows where the logo and the links of an unverified client lead.
      scope.knex.raw(`case when clients.verified then clients.logo_uri end as client_logo_uri`),
      scope.knex.raw(
        `case when clients.status = 'enabled' and clients.verified then clients.initiate_login_uri end as client_initiate_login_uri`,
      ),
    ) as unknown as Promise<ConsentWithClient[]>;
}

/** SQL: what consents hold by API resource, as the one list of scopes that is shown. */
const scopesIn = (resource_scopes: string): string =>
  `array(select distinct word from jsonb_each(${resource_scopes}) as said cross join jsonb_array_elements_text(said.value) as word)`;

/** Takes the API resource of the identifier out of what people allowed. */
export async function removeResourceFromConsents(scope: Scope, identifier: string, at: Date): Promise<void> {
  const left = 'resource_scopes - $2::text';
  const text = `update consents set resources = array_remove(resources, $2), resource_scopes = ${left}, scopes = ${scopesIn(left)}, updated_at = $3
    where environment_id = $1 and (resource_scopes ? $2 or $2 = any (resources))`;
  await run(scope, { name: 'consents.remove_resource', text }, [identifier, at]);
}

/** Takes a scope of the API resource of the identifier out of what people allowed. */
export async function removeScopeFromConsents(scope: Scope, identifier: string, name: string, at: Date): Promise<void> {
  const left = 'jsonb_set(resource_scopes, array[$2::text], (resource_scopes -> $2::text) - $3::text)';
  const text = `update consents set resource_scopes = ${left}, scopes = ${scopesIn(left)}, updated_at = $4
    where environment_id = $1 and resource_scopes -> $2::text ? $3::text`;
  await run(scope, { name: 'consents.remove_scope', text }, [identifier, name, at]);
}
