import { withJsonMappings, type ClaimMapping } from './clients.js';
import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { rowFunctions, type RecordRow } from '../records.js';
import { remove, run, table, type Scope } from '../scope.js';
import type { requiredAcrs } from './environments.js';

/** Which clients may ask people for tokens of a resource: every one, or those with a grant of type `user`. */
export const userAccesses = ['open', 'granted'] as const;

export const assertionAccesses = ['off', 'granted', 'verified'] as const;

export const tokenTyps = ['at+jwt', 'JWT'] as const;
export const userScopes = ['requested', 'held'] as const;

/** A row of `api_resources`; `identifier` is the `resource` parameter and the `aud` of its tokens (RFC 8707). */
export type ApiResourceRow = RecordRow & {
  identifier: string;
  name: string;
  token_format: 'jwt' | 'opaque';
  access_token_lifetime: number;
  /** Always `granted` for the Management API. */
  user_access: (typeof userAccesses)[number];
  /** `typ` in the header of its JWTs: RFC 9068's, or what older libraries take. */
  token_typ: (typeof tokenTyps)[number];
  /** What its JWTs are signed with: one of the environment's. */
  signing_alg: SigningAlgorithm;
  /** Whether tokens for it have to be bound to a key (RFC 9728 2). */
  dpop_bound_access_tokens: boolean;
  /** Whether a person's token holds the scopes that were asked for, or those of them that the person's roles hold. */
  user_scopes: (typeof userScopes)[number];
  claim_mappings: ClaimMapping[];
  /** Whether people's tokens for it reach unverified clients; never for the Management API. */
  allow_unverified_clients: boolean;
  /** Which clients get its tokens for identity assertions (ID-JAG): none, those whose grant says so, or verified ones too. */
  assertion_access: (typeof assertionAccesses)[number];
  /** Whether its tokens and what introspection says of them tell that an agent acts (`act`, `client_profile`). */
  agent_claims: boolean;
  /** Scopes that are granted where none of the resource's was asked for. */
  default_scopes: string[];
  /** For whoever develops a client (RFC 9728 2, `resource_documentation`). */
  documentation_url: string | null;
  /** The class that its sign-ins must reach (`acr`); null: any. */
  required_acr: (typeof requiredAcrs)[number] | null;
  /** Seconds since the person proved who they are, beyond which they are asked again; null: any. */
  max_authentication_age: number | null;
  is_system: boolean;
  /** Tokens that were issued before are of another one, which had its identifier then; null: all of its identifier are its own. */
  tokens_not_before: Date | null;
};

export const findApiResourceByIdentifier = async (scope: Scope, identifier: string): Promise<ApiResourceRow | null> =>
  (await table<ApiResourceRow>(scope, 'api_resources').where({ identifier }).first()) ?? null;

/** The resource whose identifier is that one in another spelling (`canonicalResource`); null when there is none, or there are two. */
export async function findApiResourceByCanonical(scope: Scope, canonical_identifier: string): Promise<ApiResourceRow | null> {
  const rows = await table<ApiResourceRow & { canonical_identifier: string }>(scope, 'api_resources')
    .where({ canonical_identifier })
    .limit(2);
  return rows.length === 1 ? (rows[0] as ApiResourceRow) : null;
}

/** The resource of the Management API, or null before the environment is prepared. */
export const findSystemApiResource = async (scope: Scope): Promise<ApiResourceRow | null> =>
  (await table<ApiResourceRow>(scope, 'api_resources').where({ is_system: true }).first()) ?? null;

/** Those of the identifiers that are API resources'. */
export async function listKnownIdentifiers(scope: Scope, identifiers: readonly string[]): Promise<string[]> {
  if (identifiers.length === 0) return [];
  return (await table<ApiResourceRow>(scope, 'api_resources')
    .whereIn('identifier', [...identifiers])
    .pluck('identifier')) as string[];
}

export const {
  find: findApiResource,
  insert: insertApiResource,
  update: updateApiResource,
} = rowFunctions<ApiResourceRow>('api_resources', withJsonMappings);

/** How many choose the algorithm. */
export async function countApiResourcesSignedWith(scope: Scope, signing_alg: SigningAlgorithm): Promise<number> {
  const row = await table(scope, 'api_resources').where({ signing_alg }).count<{ count: string }>('* as count').first();
  return Number(row?.count);
}

/** Deletes a resource with its permissions and grants. Its tokens are dead with it and go when they expire. */
export async function deleteApiResource(scope: Scope, id: string): Promise<void> {
  await remove<ApiResourceRow>(scope, 'api_resources', { id });
}

/** Takes a scope out of those that are granted where none was asked for. */
export async function removeDefaultScope(scope: Scope, id: string, name: string, at: Date): Promise<void> {
  scope.touched.add('api_resources');
  const text = `update api_resources set default_scopes = array_remove(default_scopes, $3), updated_at = $4, version = version + 1
    where environment_id = $1 and id = $2 and $3 = any (default_scopes)`;
  await run(scope, { name: 'api_resources.remove_default_scope', text }, [id, name, at]);
}

/** The names of the API resources of these identifiers. */
export async function listApiResourceNames(scope: Scope, identifiers: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (identifiers.length === 0) return new Map();
  const rows: unknown = await table<ApiResourceRow>(scope, 'api_resources')
    .whereIn('identifier', [...identifiers])
    .select('identifier', 'name');
  return new Map((rows as { identifier: string; name: string }[]).map(({ identifier, name }) => [identifier, name]));
}
