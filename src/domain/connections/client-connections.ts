import { addClientConnections, listConnectionIdsOfClient, removeClientConnections } from '../../db/tables/client_connections.js';
import { updateClient, type ClientRow } from '../../db/tables/clients.js';
import { connectionForAddress, enabledConnections, type Connection } from './connections.js';
import { linkDifferences, type LinkChange } from '../changes.js';
import { remembered, type Context } from '../context.js';
import { emitClientUpdated } from '../events/clients.js';
import { Refusal } from '../refusal.js';

/** Ids of the connections that the client was given, remembered until they change; empty when it offers all. */
async function connectionIdsOf(ctx: Context, client_id: string): Promise<string[]> {
  const load = ({ scope }: Context) => listConnectionIdsOfClient(scope, client_id);
  return (await remembered(ctx, 'client_connections', client_id, load)) ?? [];
}

/**
 * The enabled connections of the environment that people may sign in with for the client, by display name: those it was given, or all when it was given none.
 * Those of organizations would tell everybody who the customers are.
 */
export async function offeredConnections(ctx: Context, client_id: string | null): Promise<Connection[]> {
  const environments = (await enabledConnections(ctx)).filter(({ organization_id }) => organization_id === null);
  const [enabled, given] = [environments, client_id === null ? [] : await connectionIdsOf(ctx, client_id)];
  return given.length === 0 ? enabled : enabled.filter((connection) => given.includes(connection.id));
}

/** The enabled connections of an organization, by display name: whoever signs in for it is offered them, whatever the client was given. */
export const connectionsOfOrganization = async (ctx: Context, organization_id: string): Promise<Connection[]> =>
  (await enabledConnections(ctx)).filter((connection) => connection.organization_id === organization_id);

/** Home-realm discovery: the connection that the address's domain belongs to, an organization's or one that is offered, or null. */
export async function connectionForEmail(ctx: Context, email: string, client_id: string | null): Promise<Connection | null> {
  const organizations = (await enabledConnections(ctx)).filter(({ organization_id }) => organization_id !== null);
  return connectionForAddress([...organizations, ...(await offeredConnections(ctx, client_id))], email);
}

/**
 * Changes which connections the client offers. Emits `client.updated` when that makes a difference.
 * @returns the client as it is now
 * @throws {Refusal} 404 when the client is gone
 */
export async function changeClientConnections(
  tx: Context,
  client: ClientRow,
  change: LinkChange<{ readonly id: string }>,
): Promise<ClientRow> {
  const before = await listConnectionIdsOfClient(tx.scope, client.id);
  const { added, removed } = linkDifferences(before, change);
  if (added.length === 0 && removed.length === 0) return client;
  await addClientConnections(tx.scope, client.id, added);
  await removeClientConnections(tx.scope, client.id, removed);
  const changed = await updateClient(tx.scope, client.id, { updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such client.' });
  await emitClientUpdated(tx, changed, { connections: before });
  return changed;
}
