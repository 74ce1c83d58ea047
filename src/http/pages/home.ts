import type { NextFunction, Request, Response } from 'express';
import { browserSession } from '../auth/browser-session.js';
import { mayReadMailbox } from '../auth/mailbox-access.js';
import { basePage } from './pages.js';
import type { Web } from '../web.js';

/** GET /: the home page, with links to sign-in, account, dashboard and documentation. */
export function homePage(web: Web) {
  return async (req: Request, res: Response, next: NextFunction): Promise<void> => {
    await browserSession(req, res, () => undefined);
    const { session, ctx } = req;
    const user = session && {
      email: session.user_email,
      name: [session.user_first_name, session.user_last_name].filter(Boolean).join(' '),
    };
    const base = basePage(ctx.environment, { title: 'Identity provider', request_id: req.request_id });
    try {
      web.renderPage(res, 'dev/home', { ...base, base_url: ctx.environment.issuer, user, mailbox: mayReadMailbox(req) });
    } catch (error) {
      next(error);
    }
  };
}
