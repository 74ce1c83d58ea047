import { deleteClient, updateClient, type ClientRow } from '../../db/tables/clients.js';
import { noteDeletedName } from '../../db/tables/deleted_names.js';
import { deleteAuthorizationCodes } from '../../db/tables/authorization_codes.js';
import { deleteAnsweredDeviceCodes, deleteDeviceCodes } from '../../db/tables/device_codes.js';
import { deletePushedRequestsOfClient } from '../../db/tables/pushed_requests.js';
import { revokeSessions } from '../../db/tables/sessions.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { emitClientDeleted } from '../events/clients.js';
import { Refusal } from '../refusal.js';
import { emitUpdated } from './registration.js';

/**
 * Ends everything that was issued to the client until now: access and refresh tokens, and codes that wait. Consents stay, and so do the client's credentials.
 * Emits `client.updated`. Call it in a transaction. @throws {Refusal} 404
 */
export async function revokeTokensOfClient(tx: Context, client: ClientRow): Promise<ClientRow> {
  const now = tx.clock.now();
  const changed = await updateClient(tx.scope, client.id, { tokens_not_before: now, updated_at: now });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such client.' });
  await deleteAuthorizationCodes(tx.scope, { client_id: client.id });
  await deleteAnsweredDeviceCodes(tx.scope, client.id);
  await revokeSessions(tx.scope, { device_client_id: client.id }, now, 'revoked');
  await emitUpdated(tx, client, changed);
  return changed;
}

/**
 * Deletes a client with its grants, consents and the sessions of its devices; whatever it holds or waits for is worth nothing from the commit on, and its id
 * is never used again: one that came by its metadata document stays out until an administrator registers it. Emits `client.deleted`. Call it in a transaction.
 */
export async function endClient(tx: Context, by: Pick<Actor, 'actor_kind' | 'actor_id'>, client: ClientRow): Promise<void> {
  const client_id = client.id;
  const now = tx.clock.now();
  await deleteClient(tx.scope, client_id);
  await noteDeletedName(tx.scope, 'client', client_id, now);
  await deletePushedRequestsOfClient(tx.scope, client_id);
  await deleteAuthorizationCodes(tx.scope, { client_id });
  await deleteDeviceCodes(tx.scope, { client_id });
  await revokeSessions(tx.scope, { device_client_id: client_id }, now, 'revoked');
  await emitClientDeleted(tx, by, client);
}

/** Deletes a client, see {@link endClient}. @throws {Refusal} 409 for the configured one */
export async function removeClient(tx: Context, actor: Actor, client: ClientRow): Promise<void> {
  if (client.is_system)
    throw new Refusal({
      status: 409,
      code: 'system_record',
      detail: 'This client comes with the service and can not be deleted; disable it instead.',
    });
  await endClient(tx, actor, client);
}
