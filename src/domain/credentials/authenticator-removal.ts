import {
  deleteAuthenticator,
  deleteAuthenticatorsOfUser,
  isPasskey,
  listAuthenticatorsOfUser,
  type AuthenticatorRow,
} from '../../db/tables/authenticators.js';
import { listIdentitiesOfUser } from '../../db/tables/identities.js';
import { revokeGrants } from '../../db/tables/revocations.js';
import { deleteSecondStepTries } from '../../db/tables/second_step_tries.js';
import { lockUser, updateUser, type UserRow } from '../../db/tables/users.js';
import type { Actor } from '../actor.js';
import { recordSecurityEvent, userParty } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import { emitAuthenticatorsDeleted } from '../events/authenticators.js';
import { userActor } from '../events/data.js';
import { noOrigin, type Origin } from '../origin.js';
import { startPasswordReset } from './password-reset.js';
import { reachOfUser } from '../reach/reach-of.js';
import { requireReach } from '../reach/reach.js';
import { requireOwnConfirmation } from '../sessions/management-requirement.js';
import { endSessions } from '../sessions/sessions.js';
import { forgetDevices } from '../sessions/remembered-browsers.js';
import { isFactorDemanded } from '../authenticators/next-step.js';
import { endTrust } from '../sessions/trust.js';
import { grantRevocationEnd } from '../tokens/revoke.js';
import { tellOwner } from '../authenticators/notices.js';
import { switchTwoStep, type Doer } from '../authenticators/two-step.js';

const isFactor = ({ kind }: AuthenticatorRow) => kind !== 'recovery_codes';

/** Whether somebody could still sign in with these authenticators: by password, a provider, or a passkey that is found by itself. */
async function hasWayIn(tx: Context, user: UserRow, authenticators: readonly AuthenticatorRow[]): Promise<boolean> {
  if (user.password_hash !== null || authenticators.some((row) => isPasskey(row) && row.discoverable)) return true;
  return (await listIdentitiesOfUser(tx.scope, user.id)).some(({ connection_status, proven }) => connection_status === 'enabled' && proven);
}

/** `last_way_in`: nothing else signs the user in; `factor_required`: the policy wants one, and there is no other. */
export type RemovalOutcome = { readonly outcome: 'removed'; readonly removed: AuthenticatorRow } | { readonly outcome: RemovalRefusal };
export type RemovalRefusal = 'not_found' | 'last_way_in' | 'factor_required';

/**
 * Removes an authenticator of a user, in a transaction. With the last factor two-step and the recovery codes go; remembered browsers are forgotten.
 * The policy holds the person back, not an administrator.
 */
export async function removeAuthenticator(
  tx: Context,
  key: { user_id: string; id: string },
  { by, origin, administrator }: Doer & { readonly administrator?: Actor },
): Promise<RemovalOutcome> {
  const user = await lockUser(tx.scope, key.user_id);
  const authenticators = user ? await listAuthenticatorsOfUser(tx.scope, user.id) : [];
  const removed = authenticators.find(({ id }) => id === key.id);
  if (!user || !removed) return { outcome: 'not_found' };
  const rest = authenticators.filter((row) => row !== removed);
  if (isFactor(removed)) {
    if (!(await hasWayIn(tx, user, rest))) return { outcome: 'last_way_in' };
    if (by === 'user' && !rest.some(isFactor) && (await isFactorDemanded(tx, user.id))) return { outcome: 'factor_required' };
  }
  await deleteAuthenticator(tx.scope, key);
  await emitAuthenticatorsDeleted(tx, administrator ?? userActor(user), rest.some(isFactor) ? [removed] : authenticators);
  if (!rest.some(isFactor)) {
    await deleteAuthenticatorsOfUser(tx.scope, { user_id: user.id, kind: 'recovery_codes' });
    await switchTwoStep(tx, user, false, { by, origin });
  }
  await forgetDevices(tx, user.id);
  if (by === 'user') {
    const target = { target_type: 'authenticator', target_id: removed.id, display: removed.name };
    await recordSecurityEvent(tx, 'authenticator.removed', {
      actor: userParty(user).actor,
      target,
      origin,
      detail: { kind: removed.kind },
    });
  }
  if (removed.kind === 'recovery_codes') await tellOwner(tx, user, { kind: 'recovery_codes_removed' }, origin);
  else await tellOwner(tx, user, { kind: 'factor_removed', what: removed.kind, name: removed.name }, origin);
  return { outcome: 'removed', removed };
}

/**
 * Refuses to change what signs in somebody who may do more than the actor, or the actor without a proof that it is them.
 * @throws {Refusal} 401 `insufficient_user_authentication`, 403 `scope_escalation`
 */
export async function requireReachOver(tx: Context, actor: Actor, user_id: string): Promise<void> {
  await requireOwnConfirmation(tx, actor, user_id);
  const reach = await reachOfUser(tx, user_id);
  requireReach(actor, { before: reach, after: reach, touched: [{ touch: 'control', at: {} }] });
}

/**
 * Removes all authenticators of somebody who has lost them, and ends sessions, refresh tokens, remembered browsers and half sign-ins, in a transaction;
 * tells the owner. The next sign-in enrols where the policy wants it. Who is left without any way in gets a mail to set a password.
 * @throws {Refusal} 401 `insufficient_user_authentication` from the person without a proof, 403 `scope_escalation` when the user may do more than the actor
 */
export async function resetAuthenticators(tx: Context, actor: Actor, target: Pick<UserRow, 'id'>, origin: Origin): Promise<UserRow | null> {
  await requireReachOver(tx, actor, target.id);
  const user = await lockUser(tx.scope, target.id);
  if (!user) return null;
  const now = tx.clock.now();
  await emitAuthenticatorsDeleted(tx, actor, await deleteAuthenticatorsOfUser(tx.scope, { user_id: user.id }));
  await deleteSecondStepTries(tx.scope, user.id);
  const changed = await updateUser(tx.scope, user.id, { two_step_enabled: false, factor_required_since: null, updated_at: now });
  await endSessions(tx, { user_id: user.id }, 'authenticators_reset');
  await revokeGrants(tx.scope, { user_id: user.id }, grantRevocationEnd(tx));
  await endTrust(tx, user.id);
  const party = { actor_kind: actor.actor_kind, actor_id: actor.actor_id, display: actor.display };
  const { target: whose } = userParty(user);
  await recordSecurityEvent(tx, 'authenticator.reset', {
    actor: party,
    target: whose,
    origin,
    detail: { kinds: user.authenticator_kinds },
  });
  // Not from where: that is the administrator's address.
  await tellOwner(tx, user, { kind: 'reset' }, noOrigin);
  if (user.status === 'active' && !(await hasWayIn(tx, user, []))) await startPasswordReset(tx, user, { initiated_by: 'admin' });
  return changed;
}
