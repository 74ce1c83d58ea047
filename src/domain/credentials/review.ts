import type { IdentityWithConnection } from '../../db/tables/identities.js';
import { listSessionsEnded, type SessionRow } from '../../db/tables/sessions.js';
import { findUser, type UserRow } from '../../db/tables/users.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { listIdentities, unlinkIdentity } from '../connections/identities.js';

const aadOf = (ctx: Context) => `password-review ${ctx.environment.id}` as const;
const lifetimeMs = 1_800_000;

type Review = { readonly user_id: string; /** Milliseconds. */ readonly changed_at: number; readonly until: number };

/**
 * What lets whoever has just recovered an account look over what else opens it, without being signed in yet: good for half an hour, and
 * until the password is changed again.
 */
export function mintReview(ctx: Context, user: Pick<UserRow, 'id' | 'password_changed_at'>): string {
  const review: Review = {
    user_id: user.id,
    changed_at: user.password_changed_at?.getTime() ?? 0,
    until: ctx.clock.now().getTime() + lifetimeMs,
  };
  return ctx.crypto.sealer.sealText(JSON.stringify(review), aadOf(ctx));
}

/** The user of a review token; null when the token is altered, expired, or older than the last password change. */
export async function findReviewed(ctx: Context, token: string): Promise<UserRow | null> {
  const text = ctx.crypto.sealer.openText(token, aadOf(ctx));
  const review = text === null ? null : (JSON.parse(text) as Review);
  if (!review || review.until <= ctx.clock.now().getTime()) return null;
  const user = await findUser(ctx.scope, review.user_id);
  return user?.status === 'active' && user.password_changed_at?.getTime() === review.changed_at ? user : null;
}

/** What a recovery ended, and the accounts at providers that still sign the person in. */
export type Recovered = { readonly sessions: readonly SessionRow[]; readonly identities: readonly IdentityWithConnection[] };

/** Every session that the recovery of the user ended, last active first, and every connected account. */
export async function recoveredBy(ctx: Context, user: Pick<UserRow, 'id' | 'password_changed_at'>): Promise<Recovered> {
  const sessions = await listSessionsEnded(ctx.scope, user.id, 'password_reset', user.password_changed_at ?? ctx.clock.now());
  return { sessions, identities: await listIdentities(ctx, user.id) };
}

/** Unlinks these identities of the user; ids of others are ignored. @returns how many were unlinked */
export const dropIdentities = async (ctx: Context, user_id: string, ids: readonly string[], origin: Origin): Promise<number> =>
  transaction(ctx, async (tx) => {
    let gone = 0;
    for (const identity_id of new Set(ids)) {
      if ((await unlinkIdentity(tx, { user_id, identity_id, origin })) === 'unlinked') gone++;
    }
    return gone;
  });
