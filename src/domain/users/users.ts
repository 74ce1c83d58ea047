import { newStamps } from '../../db/records.js';
import { addUserRoles, listRoleIdsOfUser, listRoleNamesOfUser, removeUserRoles, touchRecord, type RoleRow } from '../../db/tables/roles.js';
import { voidPasscodes, voidPasswordResets } from '../../db/tables/passcodes.js';
import { revokeGrants } from '../../db/tables/revocations.js';
import { insertUser, insertUsersIfNew, updateUser, type UserChanges, type UserRow } from '../../db/tables/users.js';
import { normalizeEmail } from '../../lib/email-address.js';
import type { Actor } from '../actor.js';
import { proveAddress } from './address-proof.js';
import { refuseLastAdministrator } from './administrators.js';
import { tellOfAdministration } from './administration-notices.js';
import { previousAttributes } from '../changes.js';
import type { Context } from '../context.js';
import { reachOfRoles } from '../reach/reach-of.js';
import { holdsEverything, noReach, requireReach } from '../reach/reach.js';
import { giveRolesToNewUsers } from '../roles/default-roles.js';
import { actorData, userData } from '../events/data.js';
import { emit, emitAll } from '../events/emit.js';
import { requireEnvironmentRoles } from '../roles/role-kinds.js';
import { recordRoleChange } from '../roles/role-trail.js';
import { profileColumns, type ProfileColumn } from '../../lib/profile-columns.js';
import { emitPasswordReset } from '../events/users.js';
import { hashNewPassword } from './new-password.js';
import { requireStorableHash } from './imported-hashes.js';
import { passwordProblems, type PasswordProblem } from '../passwords/passwords.js';
import { noOrigin } from '../origin.js';
import { invalidValue, type Problem, Refusal, refuseDuplicates, refuseIfAny, unfit } from '../refusal.js';
import { endSignIns } from '../sessions/half-sign-ins.js';
import { endSessions } from '../sessions/sessions.js';
import { endTrust } from '../sessions/trust.js';
import { grantRevocationEnd } from '../tokens/revoke.js';

/** What an administrator may set on a user. `password` is plain and only ever hashed; `password_hash` comes from another system. */
export type UserInput = Partial<
  Pick<
    UserRow,
    ProfileColumn | 'email' | 'email_verified' | 'pending_migration' | 'phone_number_verified' | 'address' | 'external_id' | 'metadata'
  >
> & { password?: string; password_hash?: string };

const duplicates = {
  users_email: { attribute: 'email', detail: 'There is a user with this address already.' },
  users_external_id: { attribute: 'external_id', detail: 'There is a user with this external id already.' },
};

const passwordTexts: Readonly<Record<PasswordProblem, string>> = {
  password_too_short: 'The password is too short.',
  password_too_long: 'The password is longer than 128 characters.',
  password_common: 'The password is among the most common ones.',
  password_breached: 'The password is known from a data breach.',
  password_contains_email: 'The password is made of the email address.',
  password_contains_name: 'The password is made of the name.',
};

const invalidEmail: Problem = unfit('email', 'invalid_email', 'This is not an email address that mail can be sent to.');

const passwordRefusal = (code: PasswordProblem): Problem => unfit('password', code, passwordTexts[code]);

/** Problems of the address and the password that an administrator sets, as far as the given input tells. */
export function userProblems(ctx: Pick<Context, 'environment'>, input: UserInput, current: UserRow | null): Problem[] {
  const { email, password } = input;
  const owner = { ...current, ...input };
  const found =
    password === undefined
      ? []
      : passwordProblems(password, {
          email: owner.email ?? null,
          first_name: owner.first_name ?? null,
          last_name: owner.last_name ?? null,
          min_length: ctx.environment.password_min_length,
        });
  return [...(email !== undefined && !normalizeEmail(email) ? [invalidEmail] : []), ...found.map(passwordRefusal)];
}

/**
 * The hash to store for a password that somebody else sets, or for one imported; undefined when the input has neither. Costs a hash, and asks whether
 * the password is known from a data breach: call it outside the transaction. @throws {Refusal} 422
 */
export async function hashOf(ctx: Context, input: UserInput, current: UserRow | null): Promise<string | undefined> {
  const { password, password_hash } = input;
  if (password !== undefined && password_hash !== undefined) {
    throw new Refusal(invalidValue('password_hash', 'Give a password or a password_hash, not both.'));
  }
  if (password_hash !== undefined) {
    await requireStorableHash(ctx, password_hash);
    return password_hash;
  }
  if (password === undefined) return undefined;
  refuseIfAny(userProblems(ctx, input, current));
  const chosen = await hashNewPassword(ctx, password);
  if (chosen === null) throw new Refusal(passwordRefusal('password_breached'));
  return chosen.password_hash;
}

/** The columns of the input; the address with its key. @throws {Refusal} 422 */
function columnsOf(input: UserInput): Partial<UserRow> {
  const { password: _password, password_hash: _hash, email, ...rest } = input;
  if (email === undefined) return rest;
  const address = normalizeEmail(email);
  if (!address) throw new Refusal(invalidEmail);
  return { ...rest, ...address };
}

/**
 * Makes a user with the given roles and the default ones; emits `user.created`. `hash` comes from {@link hashOf}. `administrators` false: default roles that
 * hold a Management permission are not given.
 * @throws {Refusal} 409, 422
 */
export async function createUser(
  tx: Context,
  actor: Actor,
  input: UserInput,
  hash: string | undefined,
  roles: readonly RoleRow[],
  { administrators = true }: { readonly administrators?: boolean } = {},
): Promise<UserRow> {
  const user = await refuseDuplicates(duplicates, async () => insertUser(tx.scope, newRow(tx, input, hash)));
  await welcome(tx, actor, [{ user, roles }], administrators);
  return user;
}

function newRow(tx: Context, input: UserInput, hash: string | undefined): Partial<UserRow> {
  const now = tx.clock.now();
  const password = hash === undefined ? {} : { password_hash: hash, password_changed_at: now, pending_migration: false };
  return { ...columnsOf(input), ...password, ...newStamps(now) };
}

type Newcomer = { readonly user: UserRow; readonly roles: readonly RoleRow[] };

/** What every new user gets, and others hear of. */
async function welcome(tx: Context, actor: Actor, newcomers: readonly Newcomer[], administrators: boolean): Promise<void> {
  for (const { roles } of newcomers) requireEnvironmentRoles(roles);
  const given = newcomers.map(({ user, roles }) => ({ user_id: user.id, roles }));
  const defaults = await giveRolesToNewUsers(tx, given, administrators);
  for (const { user, roles } of newcomers) await recordRoleChange(tx, actor, user, { added: roles, removed: [] });
  const namesOf = (roles: readonly RoleRow[]) => [...new Set([...roles, ...defaults].map(({ name }) => name))].sort();
  const created_by = actorData(actor);
  await emitAll(tx, 'user.created', newcomers.map(({ user, roles }) => ({ ...userData(user, namesOf(roles)), created_by }))); // prettier-ignore
}

/** A user to be made together with others: what {@link createUser} takes. */
export type NewUser = { readonly input: UserInput; readonly hash: string | undefined; readonly roles: readonly RoleRow[] };

/** Makes many users as {@link createUser} makes one. @returns for each the user, or null where the address or the external id is somebody's already */
export async function createUsers(tx: Context, actor: Actor, people: readonly NewUser[]): Promise<(UserRow | null)[]> {
  const rows = people.map(({ input, hash }) => newRow(tx, input, hash));
  const stored = new Map((await insertUsersIfNew(tx.scope, rows)).map((user) => [user.id, user]));
  const made = rows.map(({ id }) => stored.get(id as string) ?? null);
  const newcomers = made.flatMap((user, at) => (user ? [{ user, roles: people[at]?.roles ?? [] }] : []));
  await welcome(tx, actor, newcomers, true);
  return made;
}

/**
 * Changes a user for an administrator, and tells the person by mail of another password or address. A new password ends the sessions and is announced as
 * `user.password_reset`; everything else as `user.updated`. `email_verified` is the first proof of the address, where nobody gave one before; with another
 * address open codes and half sign-ins end.
 * @throws {Refusal} 409, 422
 */
export async function changeUser(tx: Context, actor: Actor, user: UserRow, input: UserInput, hash: string | undefined): Promise<UserRow> {
  const { email_verified, ...columns } = columnsOf(input);
  const now = tx.clock.now();
  const renewed = { password_changed_at: now, failed_login_count: 0, locked_until: null, password_set_by_mail: false };
  const password = hash === undefined ? {} : { password_hash: hash, ...renewed };
  const changes: UserChanges = { ...columns, ...password, updated_at: now, ...(email_verified === false && { email_verified }) };
  const proof = { administrator: actor, origin: actor.origin ?? noOrigin };
  const changed = await refuseDuplicates(duplicates, async () =>
    email_verified ? proveAddress(tx, user, proof, changes) : updateUser(tx.scope, user.id, changes),
  );
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such user.' });
  // Whoever reads the mailbox of before had its codes, and may have begun with one.
  if (changed.email_key !== user.email_key) {
    await voidPasscodes(tx.scope, user.id, now);
    await endSignIns(tx, user.id);
  }
  if (hash !== undefined) {
    await endSessions(tx, { user_id: user.id }, 'password_reset');
    await endTrust(tx, user.id);
    await revokeGrants(tx.scope, { user_id: user.id }, grantRevocationEnd(tx));
    await voidPasswordResets(tx.scope, user.id, now);
    await emitPasswordReset(tx, changed, { initiated_by: 'admin', sessions_revoked: true, administrator: actor });
  }
  await tellOfAdministration(tx, user, changed, hash !== undefined);
  await emitUserDifference(tx, user, changed);
  return changed;
}

/** Attributes that make `user.updated` worth sending, though the event itself may not show them. */
const profile = [...profileColumns, 'phone_number_verified', 'address'] as const;

/** `user.updated`, where anything differs. */
export async function emitUserDifference(tx: Context, before: UserRow, after: UserRow, rolesBefore?: readonly string[]): Promise<void> {
  const roles = await listRoleNamesOfUser(tx.scope, after.id);
  const shown = (user: UserRow, names: readonly string[]) => ({
    ...Object.fromEntries(profile.map((name) => [name, user[name]])),
    ...userData(user, names),
  });
  const previous_attributes = previousAttributes(shown(before, rolesBefore ?? roles), shown(after, roles));
  if (Object.keys(previous_attributes).length > 0) await emit(tx, 'user.updated', { ...userData(after, roles), previous_attributes });
}

/** Nobody blocks or deletes themselves this way. @throws {Refusal} 409 */
export function refuseSelf(actor: Actor, user: UserRow, verb: string): void {
  if (actor.actor_kind === 'user' && actor.actor_id === user.id) {
    throw new Refusal({ status: 409, code: 'own_account', detail: `You can not ${verb} your own account.` });
  }
}

async function requireRoles(tx: Context, actor: Actor, roles: readonly RoleRow[]): Promise<void> {
  if (holdsEverything(actor)) return;
  requireReach(actor, { before: noReach, after: await reachOfRoles(tx, roles), touched: [{ touch: 'reach', at: {} }] });
}

/**
 * Gives and takes roles; `user.updated` tells what they were. Each role that really moves must be held by the actor with all that it reaches, even
 * when the user reaches as far by other roles: those may go, this one would stay.
 * @throws {Refusal} 403 `scope_escalation`, 409 `last_administrator`
 */
export async function changeUserRoles(
  tx: Context,
  actor: Actor,
  user: UserRow,
  change: { add: readonly RoleRow[]; remove: readonly RoleRow[] },
): Promise<UserRow> {
  const held = new Set(await listRoleIdsOfUser(tx.scope, user.id));
  const added = change.add.filter((role) => !held.has(role.id));
  const removed = change.remove.filter((role) => held.has(role.id));
  if (added.length === 0 && removed.length === 0) return user;
  requireEnvironmentRoles(added);
  await requireRoles(tx, actor, [...added, ...removed]);
  const before = await listRoleNamesOfUser(tx.scope, user.id);
  if (removed.some((role) => role.is_system)) await refuseLastAdministrator(tx, user.id);
  await addUserRoles(tx.scope, user.id, added.map((role) => role.id)); // prettier-ignore
  await removeUserRoles(tx.scope, user.id, removed.map((role) => role.id)); // prettier-ignore
  await recordRoleChange(tx, actor, user, { added, removed });
  const changed = (await touchRecord<UserRow>(tx.scope, 'users', user.id, tx.clock.now())) ?? user;
  await emitUserDifference(tx, user, changed, before);
  return changed;
}
