import type { TokenFactors } from '../../db/tables/refresh_tokens.js';
import type { Context } from '../context.js';
import { satisfies, type AuthenticationClass } from '../proofs/classes.js';
import { proofsOf } from '../proofs/proofs.js';
import type { BrowserSession } from '../sessions/sessions.js';
import { nextStep, noteFactorRequired, type FactorState, type NextStep } from '../authenticators/next-step.js';

/** What of a session's user decides about second steps; it comes with the session. */
export const factorStateOf = (session: BrowserSession): FactorState => ({
  id: session.user_id,
  authenticator_kinds: session.user_authenticator_kinds,
  two_step_enabled: session.user_two_step_enabled,
  factor_required_since: session.user_factor_required_since,
});

/** What is due of somebody now. */
export type RequiredStep = NextStep['kind'];

/** In the time to enrol nothing is due. It runs from when the policy first asked, whether at a sign-in or of a session that is older than the policy. */
async function inGrace(ctx: Context, user: FactorState, step: NextStep): Promise<RequiredStep> {
  if (step.kind !== 'enroll' || step.skip_until === null) return step.kind;
  await noteFactorRequired(ctx, user);
  return 'none';
}

/**
 * What is due of a session that is older than the policy, or than the person's two-step. No statement but where the policy wants a factor of people
 * with Management permissions.
 */
export async function stepRequiredOfSession(ctx: Context, session: BrowserSession): Promise<RequiredStep> {
  const user = factorStateOf(session);
  return inGrace(ctx, user, await nextStep(ctx, user, proofsOf(session)));
}

/** What `findRefreshToken` has to bring for {@link stepRequiredOfGrant}: nothing where no policy wants a factor. */
export function factorsRequired({ environment }: Pick<Context, 'environment'>): { readonly held_at: string | null } | null {
  const { second_factor_policy: policy, management_audience } = environment;
  if (policy !== 'required' && policy !== 'required_for_management') return null;
  return { held_at: policy === 'required_for_management' ? management_audience : null };
}

/**
 * What the policy wants of a grant before it gives further tokens. It goes by the session that the grant comes from, and by the class in the token
 * where the session is gone. The person's own two-step is no policy: it asks whoever signs in.
 */
export async function stepRequiredOfGrant(
  ctx: Context,
  { user_id, acr, factors }: { readonly user_id: string; readonly acr: AuthenticationClass; readonly factors: TokenFactors | null },
): Promise<RequiredStep> {
  const required = factorsRequired(ctx);
  if (required === null || factors === null || (required.held_at !== null && !factors.holds_permission)) return 'none';
  if (factors.session === null) return satisfies(acr, '2') ? 'none' : 'verify';
  const user = { ...factors, id: user_id };
  return inGrace(ctx, user, await nextStep(ctx, user, proofsOf(factors.session), async () => true));
}
