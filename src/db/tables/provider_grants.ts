import { rowFunctions, type RecordRow } from '../records.js';
import { table, type Scope } from '../scope.js';

/** A row of `provider_grants`: which tokens of people at a connection's provider a client may have. */
export type ProviderGrantRow = RecordRow & {
  client_id: string;
  connection_id: string;
  /** The provider's, of which the client may ask for some. */
  scopes: string[];
  status: 'enabled' | 'disabled';
};

export const findEnabledProviderGrant = async (scope: Scope, client_id: string, connection_id: string): Promise<ProviderGrantRow | null> =>
  (await table<ProviderGrantRow>(scope, 'provider_grants').where({ client_id, connection_id, status: 'enabled' }).first()) ?? null;

/** Whether clients may have tokens of people at the connection's provider. */
export const hasProviderGrants = async (scope: Scope, connection_id: string): Promise<boolean> =>
  (await table<ProviderGrantRow>(scope, 'provider_grants').where({ connection_id }).first('id')) !== undefined;

export const {
  insert: insertProviderGrant,
  update: updateProviderGrant,
  remove: deleteProviderGrant,
} = rowFunctions<ProviderGrantRow>('provider_grants');
