import { listPermissionNamesOfUser } from '../../db/tables/permissions.js';
import { updateUser, type UserRow } from '../../db/tables/users.js';
import type { Context } from '../context.js';
import { isSecondStepDone } from '../proofs/classes.js';
import type { SessionProof } from '../proofs/proofs.js';

/** What of a user decides about second steps; on the row that a sign-in reads anyway. */
export type FactorState = Pick<UserRow, 'id' | 'authenticator_kinds' | 'two_step_enabled' | 'factor_required_since'>;

/** What is due after some proofs. */
export type NextStep =
  | { readonly kind: 'none' }
  /** A factor that the person has. */
  | { readonly kind: 'verify' }
  /** A factor that the person has yet to enrol; until `skip_until` they may go on without, null: not any more. */
  | { readonly kind: 'enroll'; readonly skip_until: Date | null };

/** Whether the user has a factor: recovery codes alone are none. */
export const hasFactor = ({ authenticator_kinds }: Pick<FactorState, 'authenticator_kinds'>): boolean =>
  authenticator_kinds.includes('passkey') || authenticator_kinds.includes('totp');

/** Whether the policy wants a second factor of the user. One statement where it wants one of people with Management permissions, else none. */
export async function isFactorDemanded(ctx: Context, user_id: string): Promise<boolean> {
  const { second_factor_policy, management_audience } = ctx.environment;
  if (second_factor_policy !== 'required_for_management') return second_factor_policy === 'required';
  return (await listPermissionNamesOfUser(ctx.scope, user_id, management_audience)).length > 0;
}

/** Until when somebody may go on without a factor, counted from when the policy first asked: now, if it hasn't. Null: not any more. */
export function graceEnd(ctx: Pick<Context, 'environment' | 'clock'>, { factor_required_since }: FactorState): Date | null {
  const now = ctx.clock.now();
  const since = factor_required_since ?? now;
  const end = new Date(since.getTime() + ctx.environment.second_factor_grace_lifetime * 1000);
  return end > now ? end : null;
}

/**
 * What is due of a user after the proofs of a sign-in, or of a session that is older than the policy. Two-step asks whoever has it on, the policy
 * whoever it is for; a passkey with its user verified is both steps.
 * @param demanded whether the policy wants a factor of the user, for who knows that without a statement
 */
export async function nextStep(
  ctx: Context,
  user: FactorState,
  proofs: readonly SessionProof[],
  demanded: () => Promise<boolean> = () => isFactorDemanded(ctx, user.id),
): Promise<NextStep> {
  const done = isSecondStepDone(proofs);
  const own = hasFactor(user);
  if (own && user.two_step_enabled && !done) return { kind: 'verify' };
  if ((own && done) || !(await demanded())) return { kind: 'none' };
  if (own) return { kind: 'verify' };
  // A provider whose second factor does is asked for it at each sign-in; nothing needs enrolling here.
  if (done && proofs.some(({ asserted, suffices }) => asserted !== undefined || suffices === true)) return { kind: 'none' };
  return { kind: 'enroll', skip_until: graceEnd(ctx, user) };
}

/** Notes when the policy first asked the user for a factor, from when the time to enrol one runs; later calls change nothing. */
export async function noteFactorRequired(ctx: Context, { id, factor_required_since }: FactorState): Promise<void> {
  if (factor_required_since === null) await updateUser(ctx.scope, id, { factor_required_since: ctx.clock.now() });
}
