import type { Request, Response } from 'express';
import { Duplicate } from '../../db/connection/failures.js';
import { findUser, type UserRow } from '../../db/tables/users.js';
import { withProofs, type Proof } from '../../domain/sessions/proofs.js';
import { advanceFurther } from '../../domain/sign-ins/advance.js';
import { PageError } from '../../errors.js';
import { clearSignInCookie, type Claimant } from '../../http/auth/claimant.js';
import { addProof } from '../../http/auth/confirmation.js';
import { settleStep, type StepOutcome } from '../../http/auth/first-step.js';
import { browserOf, refuseOver, signInExpired } from '../../http/auth/sign-in.js';
import { errorMessage } from '../../http/pages/error-texts.js';

const home = '/account';

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

/**
 * Takes a further step: the claimant is signed in, or asked for what is still due.
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
  const { remember_device = false, skip = false } = how;
  const browser = browserOf(req, user.id);
  const reached = await advanceFurther(req.ctx, { user, proofs, sign_in, remember_device, skip }, browser).catch((error: unknown) => {
    if (!(error instanceof Duplicate)) return refuseOver(error, return_to);
    // The same account at the provider was linked at the same moment.
    throw new PageError(409, 'sso_account_exists', errorMessage('sso_account_exists'), {}, error);
  });
  if (!('next' in reached)) clearSignInCookie(req, res);
  return settleStep(req, res, { reached, browser, return_to });
}
