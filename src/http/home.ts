import type { NextFunction, Request, Response } from 'express';
import { listPermissionNamesOfUser } from '../db/tables/permissions.js';
import { browserSession } from './auth/browser-session.js';
import { mayReadMailbox } from './auth/mailbox-access.js';
import { basePage } from './pages/pages.js';
import type { Web } from './web.js';

/** Whether the page with the addresses for developers is for whoever asks: in a development environment for everybody, elsewhere for administrators. */
async function isForDevelopers({ ctx, session }: Request): Promise<boolean> {
  const { environment, scope } = ctx;
  if (environment.kind === 'development') return true;
  if (!session) return false;
  return (await listPermissionNamesOfUser(scope, session.user_id, environment.management_audience)).length > 0;
}

/**
 * GET /: for people the way to their account, by the sign-in page while they aren't signed in; for administrators, and in development, the home page
 * with links to account, dashboard and documentation.
 */
export const homePage = (web: Web) => async (req: Request, res: Response, next: NextFunction) => {
  await browserSession(req, res, () => undefined);
  const { session, ctx } = req;
  const user = session && {
    email: session.user_email,
    name: [session.user_first_name, session.user_last_name].filter(Boolean).join(' '),
  };
  const base = basePage(ctx.environment, { title: ctx.environment.name, request_id: req.request_id });
  try {
    res.set('Cache-Control', 'no-store');
    if (!(await isForDevelopers(req))) return res.redirect(303, '/account');
    web.renderPage(res, 'dev/home', { ...base, base_url: ctx.environment.issuer, user, mailbox: mayReadMailbox(req) });
  } catch (error) {
    next(error);
  }
};
