import type { Request, Response } from 'express';
import { enrollableKinds } from '../../domain/authenticators/enrollable.js';
import { secondStepMethods, type SecondStepMethod } from '../../domain/authenticators/second-step.js';
import { advance, type AskedStep, type ProvenStep } from '../../domain/sign-ins/advance.js';
import type { Browser, SignedInUser } from '../../domain/sign-ins/browser-session.js';
import type { UserRow } from '../../db/tables/users.js';
import { setSignInCookie } from './claimant.js';
import { withReturnTo } from '../request/return-to.js';
import { browserOf, refuseOver, setSignedIn } from './sign-in.js';

/** Somebody who has proven the first step of a sign-in, by whatever means. */
export type FirstStep = ProvenStep & {
  /** As `logins_total` counts it. */
  readonly method: 'password' | 'passkey' | 'email_code' | 'sso' | 'registration';
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
async function askFor(req: Request, { next, ...claim }: AskedStep, return_to: string | null): Promise<HalfOutcome> {
  const expires_in = Math.ceil((claim.expires_at.getTime() - req.ctx.clock.now().getTime()) / 1000);
  if (next.kind === 'verify') {
    const methods = await secondStepMethods(req.ctx, claim.user, claim.proofs);
    const remember_device = req.ctx.environment.remember_device_lifetime > 0;
    return {
      user: null,
      redirect_to: withReturnTo('/login/verify', {}, return_to),
      second_factor: { methods, expires_in, remember_device },
    };
  }
  const enroll = enrollableKinds(req.ctx.environment);
  const skip_expires_at = next.skip_until?.toISOString() ?? null;
  const second_factor = { methods: [], expires_in, remember_device: false, enroll, skip_expires_at };
  return { user: null, redirect_to: withReturnTo('/login/enroll', {}, return_to), second_factor };
}

/** Hands the browser the cookies that follow from a step, and says where the person goes on. */
export async function settleStep(
  req: Request,
  res: Response,
  step: { readonly reached: SignedInUser | AskedStep; readonly browser: Browser; readonly return_to: string | null },
): Promise<StepOutcome> {
  const { reached, browser, return_to } = step;
  if ('next' in reached) {
    if (reached.token !== null) setSignInCookie(req, res, reached.token);
    return askFor(req, reached, return_to);
  }
  setSignedIn(req, res, reached, browser);
  req.ctx.metrics.daily.add(req.ctx.environment.id, 'logins', 'succeeded');
  return { user: reached.user, redirect_to: return_to ?? home };
}

/**
 * Takes a first step: the person is signed in, or half signed in with a cookie that opens nothing but the next step. Needs `browserSession` before.
 * @throws {PageError} 401 when the password was changed, the address proven or the user blocked a moment ago
 */
export async function takeFirstStep(req: Request, res: Response, step: FirstStep): Promise<StepOutcome> {
  const { method, return_to } = step;
  const browser = browserOf(req, step.user.id);
  const reached = await advance(req.ctx, step, browser).catch((error: unknown) => refuseOver(error, return_to));
  req.ctx.metrics.logins.inc({ method, outcome: 'next' in reached ? 'second_step' : 'ok' });
  return settleStep(req, res, { reached, browser, return_to });
}
