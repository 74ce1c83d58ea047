import type { Request, Response } from 'express';
import { transaction, type Context } from '../../domain/context.js';
import { enrollableKinds } from '../../domain/authenticators/enrollable.js';
import { secondStepMethods, type SecondStepMethod } from '../../domain/authenticators/second-step.js';
import type { Proof } from '../../domain/sessions/proofs.js';
import type { ProviderSignIn } from '../../domain/sessions/sessions.js';
import { rememberedProof } from '../../domain/sign-ins/devices.js';
import { hasFactor, nextStep, noteFactorDemand, type NextStep } from '../../domain/sign-ins/next-step.js';
import { startSignIn, type HalfSignIn, type Linking } from '../../domain/sign-ins/sign-ins.js';
import type { UserRow } from '../../db/tables/users.js';
import { settleLinking } from '../../domain/connections/settle-linking.js';
import { setSignInCookie } from './claimant.js';
import { deviceOf } from './device-cookie.js';
import { originOf } from '../pages/mail-origin.js';
import { withReturnTo } from '../request/return-to.js';
import { isStillProven, overtaken, signIn } from './sign-in.js';

/** Somebody who has proven the first step of a sign-in, by whatever means. */
export type FirstStep = {
  /** As read when the proofs were judged. */
  readonly user: UserRow;
  readonly proofs: readonly Proof[];
  /** As `logins_total` counts it. */
  readonly method: 'password' | 'passkey' | 'email_code' | 'sso' | 'registration';
  /** See `WholeSignIn`. */
  readonly proven_hash?: string | null;
  readonly provider?: ProviderSignIn | null;
  /** An account at a provider that becomes the user's once the sign-in is complete. */
  readonly linking?: Linking | null;
  /** Where the person goes on to, once signed in. */
  readonly return_to: string | null;
};

/** What is asked for after the first step. */
export type SecondFactor = {
  /** Factors that the person has, the last used first; empty when one has to be enrolled. */
  readonly methods: readonly SecondStepMethod[];
  /** Seconds that the half sign-in still lasts. */
  readonly expires_in: number;
  /** Whether this browser may be remembered. */
  readonly remember_device: boolean;
  /** Kinds that can be enrolled, when the policy wants a factor that the person has yet to get. */
  readonly enroll?: readonly ('passkey' | 'totp')[];
  /** Until when the person may go on without one, in ISO 8601; null: not any more. */
  readonly skip_expires_at?: string | null;
};

/** A person who is half signed in, which opens nothing; `redirect_to` leads to the next step. */
export type HalfOutcome = { readonly user: null; readonly redirect_to: string; readonly second_factor: SecondFactor };
/** `user`: who is signed in. */
export type StepOutcome = { readonly user: UserRow; readonly redirect_to: string } | HalfOutcome;

const home = '/account';

/** What the claimant is asked for, and where. */
export async function askFor(
  req: Request,
  next: Exclude<NextStep, { kind: 'none' }>,
  claim: { readonly user: UserRow; readonly proofs: readonly Proof[]; readonly expires_at: Date; readonly return_to: string | null },
): Promise<HalfOutcome> {
  const expires_in = Math.ceil((claim.expires_at.getTime() - req.ctx.clock.now().getTime()) / 1000);
  if (next.kind === 'verify') {
    const methods = await secondStepMethods(req.ctx, claim.user, claim.proofs);
    const remember_device = req.ctx.environment.remember_device_lifetime > 0;
    return {
      user: null,
      redirect_to: withReturnTo('/login/verify', {}, claim.return_to),
      second_factor: { methods, expires_in, remember_device },
    };
  }
  const enroll = enrollableKinds(req.ctx.environment);
  const skip_expires_at = next.skip_until?.toISOString() ?? null;
  const second_factor = { methods: [], expires_in, remember_device: false, enroll, skip_expires_at };
  return { user: null, redirect_to: withReturnTo('/login/enroll', {}, claim.return_to), second_factor };
}

/** The proofs with that of a browser which skips this person's second step. */
async function withRemembered(req: Request, user: UserRow, proofs: readonly Proof[]): Promise<readonly Proof[]> {
  if (!user.two_step_enabled && !hasFactor(user)) return proofs;
  const remembered = await rememberedProof(req.ctx, deviceOf(req), user.id);
  return remembered === null ? proofs : [...proofs, remembered];
}

function count(req: Request, method: FirstStep['method'], whole: boolean): void {
  req.ctx.metrics.logins.inc({ method, outcome: whole ? 'ok' : 'second_step' });
  if (whole) req.ctx.metrics.daily.add(req.ctx.environment.id, 'logins', 'succeeded');
}

/** Begins the half sign-in; in a transaction for somebody whose address is still to be proven, which the first proof must not overtake. */
function beginHalf(ctx: Context, user: UserRow, half: HalfSignIn): ReturnType<typeof startSignIn> {
  if (user.email_verified) return startSignIn(ctx, half);
  return transaction(ctx, async (tx) => {
    if (!(await isStillProven(tx, user))) throw overtaken();
    return startSignIn(tx, half);
  });
}

/**
 * Where every first step ends: signs the person in, unless two-step or the policy wants more. Then the sign-in is kept half done, with a cookie that
 * opens nothing but the next step. Costs somebody without factors no statement where no policy asks for one. Needs `browserSession` before.
 * @throws {PageError} as `signIn`
 */
export async function takeFirstStep(req: Request, res: Response, step: FirstStep): Promise<StepOutcome> {
  const { user, method, proven_hash = null, provider = null, linking = null, return_to } = step;
  const proofs = await withRemembered(req, user, step.proofs);
  const next = await nextStep(req.ctx, user, proofs);
  if (next.kind === 'none') {
    const also = linking === null ? undefined : { also: settleLinking(user, linking, originOf(req)) };
    const signedIn = await signIn(req, res, { user, proofs, proven_hash, provider, ...also });
    count(req, method, true);
    return { user: signedIn, redirect_to: return_to ?? home };
  }
  if (next.kind === 'enroll') await noteFactorDemand(req.ctx, user);
  const half = { user_id: user.id, stage: next.kind, proofs, proven_hash, provider, linking };
  const { sign_in, token } = await beginHalf(req.ctx, user, half);
  setSignInCookie(req, res, token);
  count(req, method, false);
  return askFor(req, next, { user, proofs, expires_at: sign_in.expires_at, return_to });
}
