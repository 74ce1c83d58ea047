import { deleteAuthenticator, updateAuthenticator, type AuthenticatorRow } from '../../db/tables/authenticators.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { noOrigin } from '../origin.js';
import { Refusal } from '../refusal.js';
import { requireOwnConfirmation } from '../sessions/management-requirement.js';
import { removeAuthenticator } from './authenticator-removal.js';

const gone = () => new Refusal({ status: 404, code: 'not_found', detail: 'There is no such authenticator.' });

/** Renames somebody's authenticator, in a transaction. @throws {Refusal} 404 */
export async function nameAuthenticator(tx: Context, { id, user_id }: AuthenticatorRow, name: string): Promise<AuthenticatorRow> {
  const changed = await updateAuthenticator(tx.scope, { id, user_id }, { name, updated_at: tx.clock.now() });
  if (!changed) throw gone();
  return changed;
}

/**
 * Removes somebody's authenticator for an administrator, in a transaction whose record the Management API keeps; the owner is told by mail, but not from
 * where it was done. One that waits for its first code goes without a word. @throws {Refusal} 401 for one's own without a proof, 404, 409 `last_way_in`
 */
export async function takeAuthenticator(tx: Context, actor: Actor, { id, user_id, status }: AuthenticatorRow): Promise<void> {
  await requireOwnConfirmation(tx, actor, user_id);
  if (status === 'pending') return void (await deleteAuthenticator(tx.scope, { id, user_id }));
  const { outcome } = await removeAuthenticator(tx, { id, user_id }, { by: 'administrator', origin: noOrigin, administrator: actor });
  if (outcome === 'not_found') throw gone();
  if (outcome !== 'last_way_in') return;
  const detail = 'The user has no password and no usable identity; this is the only way to sign in.';
  throw new Refusal({ status: 409, code: 'last_way_in', detail });
}
