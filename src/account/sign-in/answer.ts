import type { Request, Response } from 'express';
import type { UserRow } from '../../db/tables/users.js';
import { credentialOf } from '../../http/auth/confirmation.js';
import type { StepOutcome } from '../../http/auth/first-step.js';
import { wantsJson } from '../../http/request/form.js';
import { own } from '../../lib/named.js';
import { userDocument } from '../user-document.js';

/** The answer to a step of a sign-in: whoever is signed in goes on, whoever isn't yet goes to the next step; JSON says which. */
export function answerStep(req: Request, res: Response, user: UserRow, outcome: StepOutcome, status = 200): void {
  const { redirect_to, second_factor } = outcome;
  if (!wantsJson(req)) return res.redirect(303, redirect_to);
  const body = second_factor === null ? { user: userDocument(user), redirect_to } : { user: null, redirect_to, second_factor };
  res.status(status).set('Cache-Control', 'no-store').json(body);
}

/** The credential in the body: an object in JSON, its text in a form; undefined without one, null when it can't be read. */
export function credentialIn(req: Request): unknown {
  const value = own(req.body as Record<string, unknown> | undefined, 'credential');
  return value === undefined || value === '' ? undefined : credentialOf(value);
}
