import type { Request, Response } from 'express';
import { signOut } from '../http/auth/claimant.js';
import { formPage } from '../http/auth/csrf.js';
import { queryOf, wantsJson } from '../http/request/form.js';
import { safeReturnTo } from '../http/request/return-to.js';
import type { Web } from '../http/web.js';
import { wordsOf } from '../http/pages/words.js';

/** GET /logout: asks, because a link alone must not sign anybody out. */
export const logoutPage = (web: Web) => (req: Request, res: Response) => {
  const return_to = safeReturnTo(queryOf(req).get('return_to'));
  if (!req.session) return res.redirect(303, '/login');
  const { user_email: email, user_first_name, user_last_name } = req.session;
  const name = [user_first_name, user_last_name].filter(Boolean).join(' ');
  const base = formPage(req, res, wordsOf(req).t('logout.title'));
  web.renderPage(res, 'account/logout', { ...base, user: { email, name }, return_to: return_to ?? '' });
};

/** POST /logout: ends the session and what was issued in it; also fine for somebody who isn't signed in. */
export async function logout(req: Request, res: Response): Promise<void> {
  await signOut(req, res);
  const body = req.body as Record<string, unknown>;
  const return_to = safeReturnTo(body['return_to']) ?? '/login';
  if (wantsJson(req)) {
    res.set('Cache-Control', 'no-store').json({ redirect_to: return_to });
    return;
  }
  res.redirect(303, return_to);
}
