import { linkFunctions } from '../records.js';
import { table, type Scope } from '../scope.js';
import type { ClientRow } from './clients.js';

export type ClientConnectionRow = { environment_id: string; client_id: string; connection_id: string };

/** The connections that the client offers; none = all. */
export const {
  listIds: listConnectionIdsOfClient,
  add: addClientConnections,
  remove: removeClientConnections,
} = linkFunctions('client_connections', 'client_id', 'connection_id', 'connections');

/** The clients that offer one of the connections: ids, and what their reach is made of beside their grants. */
export const listClientsOfConnections = async (
  scope: Scope,
  connection_ids: readonly string[],
): Promise<Pick<ClientRow, 'id' | 'first_party' | 'signal_audience' | 'claim_mappings' | 'saml_attributes' | 'saml_name_id'>[]> =>
  (await table<ClientConnectionRow>(scope, 'client_connections')
    .join('clients as c', (on) =>
      on.on('c.environment_id', 'client_connections.environment_id').andOn('c.id', 'client_connections.client_id'),
    )
    .whereIn('connection_id' as never, [...connection_ids])
    .select('c.id', 'c.first_party', 'c.signal_audience', 'c.claim_mappings', 'c.saml_attributes', 'c.saml_name_id')) as never;
