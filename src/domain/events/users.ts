import { listRoleNamesOfUser } from '../../db/tables/roles.js';
import type { UserRow } from '../../db/tables/users.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import type { EventData } from './catalogue.js';
import { actorData, personData, userActor, userData } from './data.js';
import { emit } from './emit.js';

/** `user.updated`, with what the named columns held before. */
export async function emitUserUpdated(tx: Context, before: UserRow, after: UserRow, changed: readonly (keyof UserRow)[]): Promise<void> {
  const previous_attributes = Object.fromEntries(changed.map((name) => [name, before[name]]));
  await emit(tx, 'user.updated', { ...userData(after, await listRoleNamesOfUser(tx.scope, after.id)), previous_attributes });
}

function passwordData(tx: Context, user: UserRow, sessions_revoked: boolean): EventData<'user.password_changed'> {
  const { id, first_name, last_name, email } = user;
  const changed_at = (user.password_changed_at ?? tx.clock.now()).toISOString();
  return { id, first_name, last_name, email, sessions_revoked, changed_at };
}

type HowChanged = Pick<EventData<'password.changed'>, 'how' | 'changed_by' | 'sessions_revoked'>;

async function emitPassword(tx: Context, user: UserRow, how: HowChanged): Promise<void> {
  const { changed_at } = passwordData(tx, user, how.sessions_revoked);
  await emit(tx, 'password.changed', { ...personData(user), ...how, changed_at });
}

/** `user.password_reset` and `password.changed`: a new password without the old one. `administrator` sets it; without one the person does, by a code. */
export async function emitPasswordReset(
  tx: Context,
  user: UserRow,
  change: { initiated_by: 'user' | 'admin'; sessions_revoked: boolean; administrator?: Actor },
): Promise<void> {
  const { initiated_by, sessions_revoked, administrator } = change;
  await emit(tx, 'user.password_reset', { ...passwordData(tx, user, sessions_revoked), initiated_by });
  const how = administrator ? 'set' : 'reset';
  await emitPassword(tx, user, { how, changed_by: administrator ? actorData(administrator) : userActor(user), sessions_revoked });
}

/** `user.password_changed` and `password.changed`: the person, who knew the old one. */
export async function emitPasswordChanged(tx: Context, user: UserRow, { sessions_revoked }: { sessions_revoked: boolean }): Promise<void> {
  await emit(tx, 'user.password_changed', passwordData(tx, user, sessions_revoked));
  await emitPassword(tx, user, { how: 'changed', changed_by: userActor(user), sessions_revoked });
}
