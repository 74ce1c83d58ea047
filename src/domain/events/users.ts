import { listRoleNamesOfUser } from '../../db/tables/roles.js';
import type { UserRow } from '../../db/tables/users.js';
import type { Context } from '../context.js';
import type { EventData } from './catalogue.js';
import { userData } from './data.js';
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

/** `user.password_reset`: a new password without the old one. */
export async function emitPasswordReset(
  tx: Context,
  user: UserRow,
  how: { initiated_by: 'user' | 'admin'; sessions_revoked: boolean },
): Promise<void> {
  await emit(tx, 'user.password_reset', { ...passwordData(tx, user, how.sessions_revoked), initiated_by: how.initiated_by });
}

/** `user.password_changed`: the person, who knew the old one. */
export async function emitPasswordChanged(tx: Context, user: UserRow, how: { sessions_revoked: boolean }): Promise<void> {
  await emit(tx, 'user.password_changed', passwordData(tx, user, how.sessions_revoked));
}
