import { insert, remove, table, update, type Scope } from '../scope.js';

/** A row of `provider_grants`: which tokens of people at a connection's provider a client may have. */
export type ProviderGrantRow = {
  environment_id: string;
  id: string;
  client_id: string;
  connection_id: string;
  /** The provider's, of which the client may ask for some. */
  scopes: string[];
  status: 'enabled' | 'disabled';
  version: number;
  created_at: Date;
  updated_at: Date;
};

export const findEnabledProviderGrant = async (scope: Scope, client_id: string, connection_id: string): Promise<ProviderGrantRow | null> =>
  (await table<ProviderGrantRow>(scope, 'provider_grants').where({ client_id, connection_id, status: 'enabled' }).first()) ?? null;

/** Whether clients may have tokens of people at the connection's provider. */
export const hasProviderGrants = async (scope: Scope, connection_id: string): Promise<boolean> =>
  (await table<ProviderGrantRow>(scope, 'provider_grants').where({ connection_id }).first('id')) !== undefined;

export const insertProviderGrant = (scope: Scope, row: Partial<ProviderGrantRow>): Promise<ProviderGrantRow> =>
  insert<ProviderGrantRow>(scope, 'provider_grants', row);

export const updateProviderGrant = (scope: Scope, id: string, changes: Partial<ProviderGrantRow>): Promise<ProviderGrantRow | null> =>
  update<ProviderGrantRow>(scope, 'provider_grants', { id }, changes);

export const deleteProviderGrant = async (scope: Scope, id: string): Promise<boolean> =>
  (await remove<ProviderGrantRow>(scope, 'provider_grants', { id })) > 0;
