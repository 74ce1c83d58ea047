import { table, type Scope } from '../scope.js';

/** A row of `connections`; `provider_client_secret_sealed` is sealed for `connections/<id>`. */
export type ConnectionRow = {
  environment_id: string;
  id: string;
  name: string;
  display_name: string;
  strategy: string;
  status: 'enabled' | 'disabled';
  provider_client_id: string;
  provider_client_secret_sealed: Buffer | null;
  issuer: string | null;
  authorization_endpoint: string | null;
  token_endpoint: string | null;
  userinfo_endpoint: string | null;
  jwks_uri: string | null;
  scopes: string[];
  claim_mapping: Record<string, string>;
  options: Record<string, unknown>;
  allow_registration: boolean;
  account_linking: 'verified_email' | 'ask' | 'never';
  profile_sync: 'never' | 'on_create' | 'on_login';
  domains: string[];
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** The connections that people may use, by their display names. */
export async function listEnabledConnections(scope: Scope): Promise<ConnectionRow[]> {
  return table<ConnectionRow>(scope, 'connections')
    .where({ status: 'enabled' } as never)
    .orderBy('display_name');
}

/** The connection of the id, whatever its status, or null. */
export async function findConnection(scope: Scope, id: string): Promise<ConnectionRow | null> {
  return (
    (await table<ConnectionRow>(scope, 'connections')
      .where({ id } as never)
      .first()) ?? null
  );
}
