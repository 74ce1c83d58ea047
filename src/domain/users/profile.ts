import { lockUser, updateUser, type UserAddress, type UserChanges, type UserRow } from '../../db/tables/users.js';
import { own } from '../../lib/named.js';
import { transaction, type Context } from '../context.js';
import type { AddressMember, ProfileColumn } from '../../lib/profile-columns.js';
import { emitUserUpdated } from '../events/users.js';

/** What is to change; null empties. What isn't named stays. */
export type ProfileChanges = {
  readonly columns: Readonly<Partial<Record<ProfileColumn, string | null>>>;
  readonly address: Readonly<Partial<Record<AddressMember, string | null>>>;
};

function changedAddress(current: UserAddress | null, changes: ProfileChanges['address']): UserAddress | null {
  const entries = Object.entries({ ...current, ...changes }).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  // The formatted address was made of the parts as they were.
  const members = entries.filter(([name]) => name !== 'formatted' || Object.keys(changes).length === 0);
  return members.length > 0 ? (Object.fromEntries(members) as UserAddress) : null;
}

/** Members in a fixed order, so that the same address is the same text. */
const addressText = (address: UserAddress | null) => JSON.stringify(Object.entries(address ?? {}).sort(([a], [b]) => a.localeCompare(b)));

function differences(user: UserRow, requested: ProfileChanges): UserChanges {
  const columns = Object.entries(requested.columns).filter(([name, value]) => own(user, name) !== value);
  const changes: UserChanges = Object.fromEntries(columns);
  if (changes.phone_number !== undefined && user.phone_number_verified) changes.phone_number_verified = false;
  if (Object.keys(requested.address).length > 0) {
    const address = changedAddress(user.address, requested.address);
    if (addressText(address) !== addressText(user.address)) changes.address = address;
  }
  return changes;
}

/**
 * Changes a person's own profile and emits `user.updated` with what it was before; what is as it was changes nothing and emits nothing. A
 * new phone number isn't verified. @returns the user as it is then, or null when there is none.
 */
export const updateProfile = async (ctx: Context, user_id: string, requested: ProfileChanges): Promise<UserRow | null> =>
  transaction(ctx, async (tx) => {
    const user = await lockUser(tx.scope, user_id);
    if (!user) return null;
    const changes = differences(user, requested);
    const changed = Object.keys(changes) as (keyof UserRow)[];
    if (changed.length === 0) return user;
    const updated = await updateUser(tx.scope, user_id, { ...changes, updated_at: tx.clock.now() });
    if (updated) await emitUserUpdated(tx, user, updated, changed);
    return updated;
  });
