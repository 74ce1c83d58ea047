import {
  endActing,
  findAuthorization,
  setBlocked,
  type AuthorizationRow,
  type blockers,
  type Pair,
} from '../../db/tables/authorizations.js';
import { endApprovals } from '../../db/tables/approvals.js';
import { deleteConsent } from '../../db/tables/consents.js';
import { revokeGrants } from '../../db/tables/revocations.js';
import { recordSecurityEvent } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import { emit } from '../events/emit.js';
import type { revocationReasons } from '../events/named-events.js';
import type { Origin } from '../origin.js';
import { endSessions } from '../sessions/sessions.js';
import { grantRevocationEnd } from '../tokens/revoke.js';

type Reason = (typeof revocationReasons)[number];

const partiesOf = ({ user_id, client_id }: Pair) => ({
  actor: { actor_kind: 'user', actor_id: user_id, display: null } as const,
  target: { target_type: 'client', target_id: client_id },
});

/** Ends all that the client holds of the person. @returns whether there was anything */
async function end(tx: Context, pair: Pair, reason: Reason, blocked: boolean): Promise<boolean> {
  const { user_id, client_id } = pair;
  const known = await deleteConsent(tx.scope, user_id, client_id);
  await revokeGrants(tx.scope, pair, grantRevocationEnd(tx));
  const waiting = await endApprovals(tx.scope, pair, tx.clock.now());
  const devices = await endSessions(tx, { user_id, device_client_id: client_id }, 'revoked');
  const acting = await endActing(tx.scope, pair, blocked ? null : tx.clock.now(), grantRevocationEnd(tx));
  const withdrawn = known || waiting > 0 || devices.length > 0 || acting || blocked;
  if (withdrawn) await emit(tx, 'authorization.revoked', { ...pair, reason, blocked });
  return withdrawn;
}

/**
 * Takes back what the user allowed the client, and ends everything that the client holds of the user: consent, grants, `offline_access` or not, the sessions of its devices, tokens that it
 * got by exchanges and assertions, and what others were given for any of them (specification 5.3.3, 19.5.3). Call it in a transaction. With `origin` it is the person's own doing, and
 * recorded here; the Management API keeps its own record.
 * @returns false when there was nothing
 */
export async function withdrawConsent(
  tx: Context,
  user_id: string,
  client_id: string,
  origin?: Origin,
  reason: Reason = origin ? 'person' : 'administrator',
): Promise<boolean> {
  const pair = { user_id, client_id };
  const withdrawn = await end(tx, pair, reason, false);
  if (withdrawn && origin) await recordSecurityEvent(tx, 'consent.withdrawn', { ...partiesOf(pair), origin });
  return withdrawn;
}

/**
 * The same for good: the client gets nothing of the person until it is unblocked, first-party or not. Call it in a transaction.
 * @returns null where the client never was allowed
 */
export async function blockClient(
  tx: Context,
  pair: Pair,
  by: (typeof blockers)[number],
  origin?: Origin,
): Promise<AuthorizationRow | null> {
  const found = await findAuthorization(tx.scope, pair, true);
  // Who is blocked by an administrator isn't the person's to block, and so to let in again.
  if (!found || (found.blocked_by === 'administrator' && by === 'person')) return found;
  const at = tx.clock.now();
  const blocked = await setBlocked(tx.scope, pair, { by, at: found.blocked_at ?? at }, at);
  await end(tx, pair, by, true);
  if (origin) await recordSecurityEvent(tx, 'authorization.blocked', { ...partiesOf(pair), origin });
  return blocked;
}

/**
 * Lets the client ask again; what it held stays ended. Call it in a transaction.
 * @returns null where it isn't blocked, or by an administrator and that is the person's wish
 */
export async function unblockClient(
  tx: Context,
  pair: Pair,
  by: (typeof blockers)[number],
  origin?: Origin,
): Promise<AuthorizationRow | null> {
  const found = await findAuthorization(tx.scope, pair, true);
  if (!found || found.blocked_at === null || (found.blocked_by === 'administrator' && by === 'person')) return null;
  await endActing(tx.scope, pair, tx.clock.now(), grantRevocationEnd(tx));
  await endApprovals(tx.scope, pair, tx.clock.now());
  const unblocked = await setBlocked(tx.scope, pair, null, tx.clock.now());
  if (origin) await recordSecurityEvent(tx, 'authorization.unblocked', { ...partiesOf(pair), origin });
  return unblocked;
}
