import { deleteUser, type UserRow } from '../../db/tables/users.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { actorData, personData } from '../events/data.js';
import { emit } from '../events/emit.js';
import { endSessions } from '../sessions/sessions.js';
import { refuseLastAdministrator } from './administrators.js';
import { refuseSelf } from './users.js';

/** Deletes a user; nobody deletes themselves or the last administrator. @throws {Refusal} 409 */
export async function removeUser(tx: Context, actor: Actor, user: UserRow): Promise<void> {
  refuseSelf(actor, user, 'delete');
  await endUser(tx, actor, user);
}

/** Deletes a user with the sessions, whoever it is for. Emits `user.deleted`. @throws {Refusal} 409 for the last administrator */
export async function endUser(tx: Context, by: Pick<Actor, 'actor_kind' | 'actor_id'>, user: UserRow): Promise<void> {
  await refuseLastAdministrator(tx, user.id);
  await endSessions(tx, { user_id: user.id }, 'revoked');
  await deleteUser(tx.scope, user.id);
  await emit(tx, 'user.deleted', { ...personData(user), deleted_by: actorData(by), deleted_at: tx.clock.now().toISOString() });
}
