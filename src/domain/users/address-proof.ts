import { deleteAuthenticatorsOfUser, type AuthenticatorKind } from '../../db/tables/authenticators.js';
import { deleteConsentsOfUser } from '../../db/tables/consents.js';
import { listIdentitiesOfUser, voidIdentitiesOfUser } from '../../db/tables/identities.js';
import { revokeGrants } from '../../db/tables/revocations.js';
import { deleteSecondStepTries } from '../../db/tables/second_step_tries.js';
import { lockUser, setEmailVerified, updateUser, type UserChanges, type UserRow } from '../../db/tables/users.js';
import type { Actor } from '../actor.js';
import { recordSecurityEvent, userParty } from '../audit/security-trail.js';
import { requiredConnectionFor } from '../connections/connections.js';
import { transaction, type Context } from '../context.js';
import { emitAuthenticatorsDeleted } from '../events/authenticators.js';
import { emitUserUpdated } from '../events/users.js';
import { userActor } from '../events/data.js';
import { queueMail } from '../mail/mail.js';
import { noOrigin, type Origin } from '../origin.js';
import { endSessions } from '../sessions/sessions.js';
import { forgetDevices } from '../sessions/remembered-browsers.js';
import { endSignIns } from '../sessions/half-sign-ins.js';
import { grantRevocationEnd } from '../tokens/revoke.js';

/** Who proves that an address is the user's: an administrator who says so; null: the person, by a code or link that came by it. */
export type AddressProof = { readonly administrator: Actor | null; readonly origin: Origin };

/** What the first proof of an address took from the account. `accounts` are the connected ones that wait for a new proof. */
type Cleared = {
  readonly sessions: boolean;
  readonly applications: boolean;
  readonly password: boolean;
  readonly authenticators: readonly AuthenticatorKind[];
  readonly accounts: readonly string[];
};

/**
 * The columns of a user whose factors are gone. A password that the proof itself brings stays; known browsers are those since `password_changed_at`, so
 * that it counts as a change where there was one.
 */
function clearedColumns(user: UserRow, changes: UserChanges, now: Date): UserChanges {
  const factors = { two_step_enabled: false, factor_required_since: null, pending_migration: false } as const;
  if (changes.password_hash !== undefined || user.password_hash === null) return { ...factors, ...changes };
  const lock = { failed_login_count: 0, locked_until: null } as const;
  return { ...factors, ...lock, ...changes, password_hash: null, password_changed_at: now, password_set_by_mail: false };
}

/**
 * Ends and removes what somebody attached to the account before anybody had proven its address. An account at the connection through which alone the
 * address signs in stays: that provider is the owner of the domain, and nothing else would let the person in again.
 */
async function clearAccount(tx: Context, user: UserRow, changes: UserChanges, by: Actor | null): Promise<Cleared> {
  const { id: user_id, email } = user;
  const sessions = await endSessions(tx, { user_id }, 'address_proven');
  await endSignIns(tx, user_id);
  const devices = await forgetDevices(tx, user_id);
  const grants = await revokeGrants(tx.scope, { user_id }, grantRevocationEnd(tx));
  const consents = await deleteConsentsOfUser(tx.scope, user_id);
  await emitAuthenticatorsDeleted(tx, by ?? userActor(user), await deleteAuthenticatorsOfUser(tx.scope, { user_id }));
  await deleteSecondStepTries(tx.scope, user_id);
  const required = await requiredConnectionFor(tx, email);
  const identities = (await listIdentitiesOfUser(tx.scope, user_id)).filter(({ connection_id }) => connection_id !== required?.id);
  await voidIdentitiesOfUser(tx.scope, user_id, required?.id ?? null);
  return {
    sessions: sessions.length + devices > 0,
    applications: grants + consents > 0,
    password: user.password_hash !== null && changes.password_hash === undefined,
    authenticators: user.authenticator_kinds,
    accounts: identities
      .filter(({ proven }) => proven)
      .map((one) => (one.email === null ? one.connection_display_name : `${one.connection_display_name} (${one.email})`)),
  };
}

/** Tells the owner what went; nothing when nothing did. */
async function tellCleared(tx: Context, user: UserRow, cleared: Cleared, { administrator, origin }: AddressProof): Promise<void> {
  const { sessions, applications, password, authenticators, accounts } = cleared;
  if (!sessions && !applications && !password && authenticators.length === 0 && accounts.length === 0) return;
  const { issuer } = tx.environment;
  await queueMail(tx, {
    template: 'address_proven',
    to: user.email,
    locale: user.locale,
    model: {
      administrator: administrator !== null,
      password_removed: password,
      authenticators_removed: authenticators.length > 0,
      sessions_ended: sessions,
      applications_ended: applications,
      accounts,
      reset_url: `${issuer}/password/forgot`,
      account_url: `${issuer}/account`,
    },
    // Not from where: that is the administrator's address.
    origin: administrator === null ? origin : noOrigin,
  });
}

/**
 * Makes the address of a user a proven one, with further changes, in a transaction: the only way to `email_verified` on a user who exists
 * (specification 4.5.6). The first proof clears the account in the same transaction: whoever made it may not be the address's owner. Sessions, half
 * sign-ins, remembered browsers, grants and consents end, the password and all authenticators go, connected accounts wait for a new proof, and the owner
 * is told by mail. A password among the changes stays.
 * @returns null when there is no such user any more, or one of another address than was proven
 */
export async function proveAddress(tx: Context, user: UserRow, proof: AddressProof, changes: UserChanges = {}): Promise<UserRow | null> {
  // Another address than the proven one is proven only where an administrator says so of it.
  if (user.email_verified && changes.email_key === undefined) return updateUser(tx.scope, user.id, changes);
  const held = await lockUser(tx.scope, user.id);
  if (held?.email_key !== user.email_key) return null;
  if (held.email_verified) return setEmailVerified(tx.scope, user.id, changes);
  const now = tx.clock.now();
  const cleared = await clearAccount(tx, held, changes, proof.administrator);
  const proven = await setEmailVerified(tx.scope, user.id, clearedColumns(held, changes, now));
  if (!proven) return null;
  const { actor, target } = userParty(proven);
  const { administrator, origin } = proof;
  const detail = { password: cleared.password, authenticators: cleared.authenticators, connected_accounts: cleared.accounts.length };
  await recordSecurityEvent(tx, 'address.proven', { actor: administrator ?? actor, target, origin, detail });
  await tellCleared(tx, proven, cleared, proof);
  return proven;
}

/** Notes that the address is the user's, whatever comes of the sign-in that proves it. Null when it is another one by now. */
export async function provenAddress(ctx: Context, user: UserRow, origin: Origin): Promise<UserRow | null> {
  if (user.email_verified) return user;
  return transaction(ctx, async (tx) => {
    const held = await lockUser(tx.scope, user.id);
    if (held?.email_key !== user.email_key) return null;
    // Another request came first.
    if (held.email_verified) return held;
    const changed = await proveAddress(tx, held, { administrator: null, origin }, { updated_at: tx.clock.now() });
    if (changed) await emitUserUpdated(tx, held, changed, ['email_verified']);
    return changed;
  });
}
