import { insertMissing, table, type Scope } from '../scope.js';
import type { ClientRow } from './clients.js';

/** A row of `client_connections`: a connection that a client offers at sign-in. */
export type ClientConnectionRow = { environment_id: string; client_id: string; connection_id: string };

/** Ids of the connections that the client offers; none = all. */
export async function listConnectionIdsOfClient(scope: Scope, client_id: string): Promise<string[]> {
  return (await table<ClientConnectionRow>(scope, 'client_connections')
    .where({ client_id } as never)
    .orderBy('connection_id')
    .pluck('connection_id')) as string[];
}

/** The clients that offer one of the connections: ids, and what their reach is made of beside their grants. */
export async function listClientsOfConnections(
  scope: Scope,
  connection_ids: readonly string[],
): Promise<Pick<ClientRow, 'id' | 'first_party' | 'signal_audience' | 'claim_mappings' | 'saml_attributes' | 'saml_name_id'>[]> {
  return (await table<ClientConnectionRow>(scope, 'client_connections')
    .join('clients as c', (on) =>
      on.on('c.environment_id', 'client_connections.environment_id').andOn('c.id', 'client_connections.client_id'),
    )
    .whereIn('connection_id' as never, [...connection_ids])
    .select('c.id', 'c.first_party', 'c.signal_audience', 'c.claim_mappings', 'c.saml_attributes', 'c.saml_name_id')) as never;
}

/** Adds connections to those that the client offers; what is there already stays. */
export async function addClientConnections(scope: Scope, client_id: string, connection_ids: readonly string[]): Promise<void> {
  const rows = connection_ids.map((connection_id) => ({ client_id, connection_id }));
  await insertMissing<ClientConnectionRow>(scope, 'client_connections', rows);
}

export async function removeClientConnections(scope: Scope, client_id: string, connection_ids: readonly string[]): Promise<void> {
  scope.touched.add('client_connections');
  await table<ClientConnectionRow>(scope, 'client_connections')
    .where({ client_id } as never)
    .whereIn('connection_id' as never, [...connection_ids])
    .delete();
}
