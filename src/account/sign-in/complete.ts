import type { Request, Response } from 'express';
import { Duplicate } from '../../db/connection/failures.js';
import { advanceSignIn, type SignInRow } from '../../db/tables/sign_ins.js';
import { findUser, type UserRow } from '../../db/tables/users.js';
import { settleLinking } from '../../domain/connections/settle-linking.js';
import { withProofs, type Proof } from '../../domain/sessions/proofs.js';
import { rememberBrowser } from '../../domain/sign-ins/devices.js';
import { nextStep } from '../../domain/sign-ins/next-step.js';
import { linkingOf, providerOf } from '../../domain/sign-ins/sign-ins.js';
import { PageError } from '../../errors.js';
import { clearSignInCookie, type Claimant } from '../../http/auth/claimant.js';
import { addProof } from '../../http/auth/confirmation.js';
import { askFor, type StepOutcome } from '../../http/auth/first-step.js';
import { signIn } from '../../http/auth/sign-in.js';
import { errorMessage } from '../../http/pages/error-texts.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { withReturnTo } from '../../http/request/return-to.js';

const home = '/account';

/** 410: the half sign-in has ended, by time, tries, or because another request has completed it. */
export function signInExpired(return_to: string | null): PageError {
  const href = withReturnTo('/login', {}, return_to);
  return new PageError(410, 'sign_in_expired', errorMessage('sign_in_expired'), {}, undefined, { href, label: 'common.sign_in' });
}

/** How a sign-in goes on once more was proven. */
export type Completion = {
  readonly return_to: string | null;
  /** Whether this browser skips the second step from now on. */
  readonly remember_device?: boolean;
  /** The person goes on without the factor that the policy asks for, in the grace time. */
  readonly skip?: boolean;
};

/** A session reaches a higher class: it goes on with a new token. */
async function stepUp(req: Request, res: Response, user: UserRow, added: readonly Proof[], return_to: string | null): Promise<StepOutcome> {
  for (const proof of added)
    if (!(await addProof(req, res, proof))) throw new PageError(401, 'login_required', errorMessage('login_required'));
  return { user, redirect_to: return_to ?? home };
}

/** Turns a half sign-in into a session: of two requests at once one does. What it was kept for happens with it. */
async function finish(
  req: Request,
  res: Response,
  { user, sign_in }: { user: UserRow; sign_in: SignInRow },
  proofs: readonly Proof[],
  how: Completion,
): Promise<UserRow> {
  const origin = originOf(req);
  const signedIn = await signIn(req, res, {
    user,
    proofs,
    proven_hash: sign_in.proven_hash,
    completes: sign_in,
    provider: providerOf(sign_in),
    also: async (tx, device) => {
      const linking = linkingOf(tx, sign_in);
      if (linking) await settleLinking(user, linking, origin)(tx);
      if (how.remember_device === true) await rememberBrowser(tx, device, user.id, origin);
    },
  }).catch((error: unknown) => {
    // The same account at the provider was linked at the same moment.
    throw error instanceof Duplicate ? new PageError(409, 'sso_account_exists', errorMessage('sso_account_exists'), {}, error) : error;
  });
  clearSignInCookie(req, res);
  req.ctx.metrics.daily.add(req.ctx.environment.id, 'logins', 'succeeded');
  return signedIn;
}

/**
 * Where every further step ends: signs the claimant in, or asks for what is still due.
 * @throws {PageError} 410 when the half sign-in has ended meanwhile
 */
export async function completeClaim(
  req: Request,
  res: Response,
  claimant: Claimant,
  added: readonly Proof[],
  how: Completion,
): Promise<StepOutcome> {
  const { sign_in } = claimant;
  const { return_to } = how;
  if (sign_in === null) return stepUp(req, res, claimant.user, added, return_to);
  // As it is now: enrolment has changed it.
  const user = await findUser(req.ctx.scope, claimant.user.id);
  if (!user) throw signInExpired(return_to);
  const proofs = withProofs(claimant.proofs, added);
  const next = await nextStep(req.ctx, user, proofs);
  const skips = how.skip === true && next.kind === 'enroll' && next.skip_until !== null;
  if (next.kind === 'none' || skips)
    return { user: await finish(req, res, { user, sign_in }, proofs, how), redirect_to: return_to ?? home };
  if (!(await advanceSignIn(req.ctx.scope, sign_in.id, next.kind, proofs))) throw signInExpired(return_to);
  return askFor(req, next, { user, proofs, expires_at: sign_in.expires_at, return_to });
}
