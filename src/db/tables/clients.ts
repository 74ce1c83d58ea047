import type { JWK } from 'jose';
import type { Knex } from 'knex';
import { insert, remove, table, update, type Scope } from '../scope.js';

/** How a client proves who it is at the token endpoint (RFC 7591 2). */
export type ClientAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt' | 'none';

/** A row of `clients`; its id is the `client_id`. Lifetimes in seconds, null = the environment's. */
export type ClientRow = {
  environment_id: string;
  id: string;
  name: string;
  description: string | null;
  application_type: 'web' | 'spa' | 'native' | 'machine';
  redirect_uris: string[];
  post_logout_redirect_uris: string[];
  allowed_origins: string[];
  grant_types: string[];
  token_endpoint_auth_method: ClientAuthMethod;
  /** The scopes it may ask for; null = the OpenID Connect ones and every permission of the resource it names. */
  scopes: string[] | null;
  access_token_format: 'jwt' | 'opaque';
  first_party: boolean;
  /** May ask about tokens of other clients (RFC 7662); never one that registered itself. */
  introspection_allowed: boolean;
  require_pkce: boolean;
  id_token_lifetime: number | null;
  refresh_token_lifetime: number | null;
  /** Token requests a minute once authenticated; null = RATE_LIMIT_TOKEN. */
  token_rate_limit: number | null;
  backchannel_logout_uri: string | null;
  backchannel_logout_session_required: boolean;
  client_uri: string | null;
  logo_uri: string | null;
  policy_uri: string | null;
  tos_uri: string | null;
  contacts: string[];
  jwks: { keys: JWK[] } | null;
  jwks_uri: string | null;
  status: 'enabled' | 'disabled';
  is_system: boolean;
  secret_digest: Buffer | null;
  secret_hint: string | null;
  secret_rotated_at: Date | null;
  previous_secret_digest: Buffer | null;
  previous_secret_expires_at: Date | null;
  registration_token_digest: Buffer | null;
  last_used_at: Date | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** The client of the id, or null. */
export async function findClient(scope: Scope, id: string): Promise<ClientRow | null> {
  return (await table<ClientRow>(scope, 'clients').where({ id }).first()) ?? null;
}

/** Stores a client. */
export async function insertClient(scope: Scope, row: Partial<ClientRow>): Promise<ClientRow> {
  return insert<ClientRow>(scope, 'clients', row);
}

/** Changes a client and returns it, or null when there is no such client. */
export async function updateClient(scope: Scope, id: string, changes: Partial<ClientRow>): Promise<ClientRow | null> {
  return update<ClientRow>(scope, 'clients', { id }, changes);
}

/** The distinct origins from which browsers may call the token endpoint (CORS). */
export async function listAllowedOrigins(scope: Scope): Promise<string[]> {
  const rows = (await scope
    .knex('clients')
    .where({ environment_id: scope.environment_id, status: 'enabled' })
    .whereRaw('cardinality(allowed_origins) > 0')
    .select(scope.knex.raw('distinct unnest(allowed_origins) as origin'))) as { origin: string }[];
  return rows.map((row) => row.origin);
}

/** The distinct origins of first-party clients, which may bring their own UI for accounts (CORS with the session cookie). */
export async function listOwnOrigins(scope: Scope): Promise<string[]> {
  const rows = (await scope
    .knex('clients')
    .where({ environment_id: scope.environment_id, status: 'enabled', first_party: true })
    .whereRaw('cardinality(allowed_origins) > 0')
    .select(scope.knex.raw('distinct unnest(allowed_origins) as origin'))) as { origin: string }[];
  return rows.map((row) => row.origin);
}

/** Deletes a client, its grants and consents. */
export async function deleteClient(scope: Scope, id: string): Promise<boolean> {
  return (await remove<ClientRow>(scope, 'clients', { id })) > 0;
}

/**
 * Notes when clients of many environments were last used: never an earlier time than what is there, so that replicas may write in any
 * order; neither version nor `updated_at` change. Rows are locked in one order in every process.
 */
export async function noteClientUse(knex: Knex, uses: readonly { environment_id: string; client_id: string; at: Date }[]): Promise<void> {
  if (uses.length === 0) return;
  await knex.raw(
    `with used as (
       select c.environment_id, c.id, u.at
       from unnest(?::uuid[], ?::text[], ?::timestamptz[]) as u (environment_id, id, at)
       join clients c on c.environment_id = u.environment_id and c.id = u.id
       where c.last_used_at is null or c.last_used_at < u.at
       order by c.environment_id, c.id for no key update of c
     )
     update clients c set last_used_at = greatest(c.last_used_at, used.at) from used where c.environment_id = used.environment_id and c.id = used.id`,
    [uses.map((one) => one.environment_id), uses.map((one) => one.client_id), uses.map((one) => one.at.toISOString())],
  );
}
