import type { ClientRow } from '../../db/tables/clients.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { actorData, clientData } from './data.js';
import { emit } from './emit.js';

/** `client.registered`, and `client.created` with where it came from. */
export async function emitClientRegistered(tx: Context, client: ClientRow): Promise<void> {
  await emit(tx, 'client.registered', clientData(client));
  await emit(tx, 'client.created', { ...clientData(client), origin: client.origin });
}

/** `client.updated`: the client as it is now, and what changed members held before. */
export const emitClientUpdated = (tx: Context, client: ClientRow, previous_attributes: Record<string, unknown>): Promise<void> =>
  emit(tx, 'client.updated', { ...clientData(client), previous_attributes });

export async function emitClientDeleted(
  tx: Context,
  by: Pick<Actor, 'actor_kind' | 'actor_id'>,
  { id, name }: Pick<ClientRow, 'id' | 'name'>,
): Promise<void> {
  const deleted_at = tx.clock.now().toISOString();
  await emit(tx, 'client.deleted', { id, client_id: id, name, deleted_by: actorData(by), deleted_at });
}
