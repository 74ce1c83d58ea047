import type { NextFunction, Request, Response } from 'express';
import { PageError } from '../errors.js';
import { errorMessage } from '../http/pages/error-texts.js';
import { wantsJson } from '../http/request/form.js';

/** Lets only somebody signed in pass: others get 401 `login_required` as JSON, or the sign-in page. Needs `browserSession` before. */
export function signedIn(req: Request, res: Response, next: NextFunction): void {
  if (req.session) return next();
  if (wantsJson(req)) return next(new PageError(401, 'login_required', errorMessage('login_required')));
  res.redirect(303, `/login?${new URLSearchParams({ return_to: '/account' })}`);
}
