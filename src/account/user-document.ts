import type { UserRow } from '../db/tables/users.js';

/** The user as the account endpoints' JSON shows it to that very user. */
export function userDocument(user: UserRow) {
  return {
    id: user.id,
    email: user.email,
    email_verified: user.email_verified,
    first_name: user.first_name,
    last_name: user.last_name,
    status: user.status,
    created_at: user.created_at.toISOString(),
    updated_at: user.updated_at.toISOString(),
  };
}
