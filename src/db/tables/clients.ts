import type { JWK } from 'jose';
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

/** Deletes a client, its grants and consents. */
export async function deleteClient(scope: Scope, id: string): Promise<boolean> {
  return (await remove<ClientRow>(scope, 'clients', { id })) > 0;
}
