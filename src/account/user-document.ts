import { profileColumns, type ProfileColumn } from '../lib/profile-columns.js';
import type { UserRow } from '../db/tables/users.js';

/** The user as the account endpoints' JSON shows it to that very user. */
export const userDocument = (user: UserRow) => ({
  id: user.id,
  email: user.email,
  email_verified: user.email_verified,
  ...(Object.fromEntries(profileColumns.map((name) => [name, user[name]])) as Pick<UserRow, ProfileColumn>),
  phone_number_verified: user.phone_number_verified,
  address: user.address,
  status: user.status,
  has_password: user.password_hash !== null,
  password_changed_at: user.password_changed_at?.toISOString() ?? null,
  last_login_at: user.last_login_at?.toISOString() ?? null,
  deletion_due_at: user.deletion_due_at?.toISOString() ?? null,
  created_at: user.created_at.toISOString(),
  updated_at: user.updated_at.toISOString(),
});
