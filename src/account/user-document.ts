import type { UserRow } from '../db/tables/users.js';

/** The user as the account endpoints' JSON shows it to that very user. */
export function userDocument(user: UserRow) {
  return {
    id: user.id,
    email: user.email,
    email_verified: user.email_verified,
    first_name: user.first_name,
    last_name: user.last_name,
    middle_name: user.middle_name,
    nickname: user.nickname,
    preferred_username: user.preferred_username,
    profile: user.profile,
    picture: user.picture,
    website: user.website,
    gender: user.gender,
    birthdate: user.birthdate,
    zoneinfo: user.zoneinfo,
    locale: user.locale,
    phone_number: user.phone_number,
    phone_number_verified: user.phone_number_verified,
    address: user.address,
    status: user.status,
    has_password: user.password_hash !== null,
    password_changed_at: user.password_changed_at?.toISOString() ?? null,
    last_login_at: user.last_login_at?.toISOString() ?? null,
    deletion_due_at: user.deletion_due_at?.toISOString() ?? null,
    created_at: user.created_at.toISOString(),
    updated_at: user.updated_at.toISOString(),
  };
}
