import { findUser, lockUser, updateUser, type UserRow } from '../../db/tables/users.js';
import { recordSecurityEvent, userParty } from '../audit/security-trail.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { hasFactor, isFactorDemanded } from './next-step.js';
import { tellOwner } from './notices.js';
import { renewRecoveryCodes } from './recovery-codes.js';

/** Whose doing a change is: the person's, which is recorded here, or an administrator's, which the Management API records. */
export type Doer = { readonly by: 'user' | 'administrator'; readonly origin: Origin };

/** Writes whether two-step is on, in the transaction of whatever makes it so, and tells the owner. Nothing happens when it is so already. */
export async function switchTwoStep(tx: Context, user: UserRow, enabled: boolean, { by, origin }: Doer): Promise<void> {
  if (user.two_step_enabled === enabled) return;
  await updateUser(tx.scope, user.id, { two_step_enabled: enabled, updated_at: tx.clock.now() });
  if (by === 'user') await recordSecurityEvent(tx, 'two_step.changed', { ...userParty(user), origin, detail: { enabled } });
  await tellOwner(tx, user, { kind: enabled ? 'two_step_on' : 'two_step_off' }, origin);
}

/** New recovery codes for a user who has none, when two-step begins, of which the owner is told then; null for one who has. */
export async function firstRecoveryCodes(tx: Context, user_id: string, origin: Origin): Promise<string[] | null> {
  const present = await findUser(tx.scope, user_id);
  if (!present || present.authenticator_kinds.includes('recovery_codes')) return null;
  return renewRecoveryCodes(tx, present, origin);
}

/** `factor_missing`: there is none to be asked for; `factor_required`: the policy wants it on. `recovery_codes`: shown this once, null when there are some. */
export type TwoStepOutcome =
  | { readonly outcome: 'changed'; readonly two_step_enabled: boolean; readonly recovery_codes: string[] | null }
  | { readonly outcome: 'factor_missing' | 'factor_required' | 'not_found' };

export const setTwoStep = async (ctx: Context, user_id: string, enabled: boolean, origin: Origin): Promise<TwoStepOutcome> =>
  transaction(ctx, async (tx): Promise<TwoStepOutcome> => {
    const user = await lockUser(tx.scope, user_id);
    if (!user) return { outcome: 'not_found' };
    if (enabled && !hasFactor(user)) return { outcome: 'factor_missing' };
    if (!enabled && (await isFactorDemanded(tx, user_id))) return { outcome: 'factor_required' };
    await switchTwoStep(tx, user, enabled, { by: 'user', origin });
    const recovery_codes = enabled ? await firstRecoveryCodes(tx, user_id, origin) : null;
    return { outcome: 'changed', two_step_enabled: enabled, recovery_codes };
  });
