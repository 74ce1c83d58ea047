import type { Request, Response } from 'express';
import { credentialOf } from '../../http/auth/confirmation.js';
import type { StepOutcome } from '../../http/auth/first-step.js';
import { wantsJson } from '../../http/request/form.js';
import { own } from '../../lib/named.js';
import { userDocument } from '../user-document.js';

/** What JSON says of a step. */
export const stepBody = (outcome: StepOutcome) => (outcome.user ? { ...outcome, user: userDocument(outcome.user) } : outcome);

/** The answer to a step of a sign-in: whoever is signed in goes on, whoever isn't yet goes to the next step; JSON says which. */
export function answerStep(req: Request, res: Response, outcome: StepOutcome, status = 200): void {
  if (!wantsJson(req)) return res.redirect(303, outcome.redirect_to);
  res.status(status).set('Cache-Control', 'no-store').json(stepBody(outcome));
}

/** The credential in the body: an object in JSON, its text in a form; undefined without one, null when it can't be read. */
export function credentialIn(req: Request): unknown {
  const value = own(req.body as Record<string, unknown> | undefined, 'credential');
  return value === undefined || value === '' ? undefined : credentialOf(value);
}
