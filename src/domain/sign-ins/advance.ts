import { advanceSignIn, type SignInRow } from '../../db/tables/sign_ins.js';
import type { UserRow } from '../../db/tables/users.js';
import { settleLinking } from '../connections/settle-linking.js';
import type { Context } from '../context.js';
import type { Proof } from '../sessions/proofs.js';
import type { ProviderSignIn } from '../sessions/sessions.js';
import { rememberBrowser, rememberedProof } from './devices.js';
import { hasFactor, nextStep, noteFactorDemand, type NextStep } from './next-step.js';
import { openBrowserSession, type Browser, type SignedInUser } from './browser-session.js';
import { beginSignIn, linkingOf, providerOf, SignInOver, type Linking } from './sign-ins.js';

/** A first step that somebody has proven, by whatever means. */
export type ProvenStep = {
  /** As read when the proofs were judged. */
  readonly user: UserRow;
  readonly proofs: readonly Proof[];
  /** See `WholeSignIn`. */
  readonly proven_hash?: string | null;
  readonly provider?: ProviderSignIn | null;
  /** An account at a provider that becomes the user's once the sign-in is complete. */
  readonly linking?: Linking | null;
};

/** A further step of a half sign-in. */
export type FurtherStep = {
  readonly user: UserRow;
  /** All proofs of the sign-in. */
  readonly proofs: readonly Proof[];
  readonly sign_in: SignInRow;
  /** Whether this browser skips the second step from now on. */
  readonly remember_device: boolean;
  /** The person goes on without the factor that the policy asks for, in the grace time. */
  readonly skip: boolean;
};

/** What a half sign-in asks for next; `token`: of one that has just begun, for the browser's cookie. */
export type AskedStep = {
  readonly next: Exclude<NextStep, { kind: 'none' }>;
  readonly user: UserRow;
  readonly proofs: readonly Proof[];
  readonly expires_at: Date;
  readonly token: string | null;
};

/** The proofs with that of a browser which skips this person's second step. */
async function withRemembered(ctx: Context, { user, proofs }: ProvenStep, { known }: Browser): Promise<readonly Proof[]> {
  if (!user.two_step_enabled && !hasFactor(user)) return proofs;
  const remembered = await rememberedProof(ctx, known, user.id);
  return remembered === null ? proofs : [...proofs, remembered];
}

/**
 * Where every first step ends: a session, unless two-step or the policy wants more. Then the sign-in is kept half done. Costs somebody without factors no
 * statement where no policy asks for one.
 * @throws {SignInOver}
 */
export async function advance(ctx: Context, step: ProvenStep, browser: Browser): Promise<SignedInUser | AskedStep> {
  const { user, proven_hash = null, provider = null, linking = null } = step;
  const proofs = await withRemembered(ctx, step, browser);
  const next = await nextStep(ctx, user, proofs);
  if (next.kind === 'none') {
    const also = linking === null ? undefined : settleLinking(user, linking, browser.origin);
    return openBrowserSession(ctx, { user, proofs, proven_hash, provider, also }, browser);
  }
  if (next.kind === 'enroll') await noteFactorDemand(ctx, user);
  const half = { user_id: user.id, stage: next.kind, proofs, proven_hash, provider, linking };
  const { sign_in, token } = await beginSignIn(ctx, user, half);
  return { next, user, proofs, expires_at: sign_in.expires_at, token };
}

/**
 * Where every further step ends: turns the half sign-in into a session, of two requests at once one does, or asks for what is still due. What the sign-in
 * was kept for happens with it.
 * @throws {SignInOver}
 */
export async function advanceFurther(ctx: Context, step: FurtherStep, browser: Browser): Promise<SignedInUser | AskedStep> {
  const { user, proofs, sign_in, remember_device, skip } = step;
  const { proven_hash, expires_at } = sign_in;
  const next = await nextStep(ctx, user, proofs);
  if (next.kind === 'none' || (skip && next.kind === 'enroll' && next.skip_until !== null)) {
    const linking = linkingOf(ctx, sign_in);
    const also = async (tx: Context) => {
      if (linking) await settleLinking(user, linking, browser.origin)(tx);
      if (remember_device) await rememberBrowser(tx, browser.device, user.id, browser.origin);
    };
    return openBrowserSession(ctx, { user, proofs, proven_hash, completes: sign_in, provider: providerOf(sign_in), also }, browser);
  }
  if (!(await advanceSignIn(ctx.scope, sign_in.id, next.kind, proofs))) throw new SignInOver('expired');
  return { next, user, proofs, expires_at, token: null };
}
