import type { NextFunction, Request, Response } from 'express';
import { browserSession } from './browser-session.js';
import { basePage } from './pages.js';
import type { Web } from './web.js';

const loopbackAddress = /^(127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/;

/**
 * Whether captured mail may be looked at: only without an SMTP server and in a development environment (specification 1.5.2), and under a name of
 * the service's own, so that no web page reads it through a name that it points at this machine (DNS rebinding).
 */
export function hasMailbox(req: Request): boolean {
  const { config, environment } = req.ctx;
  const own = new URL(config.baseUrl).host;
  const host = (req.headers.host ?? '').toLowerCase();
  const named = host === own || host.endsWith(`.${own}`) || loopbackAddress.test(host);
  return named && config.smtpUrl === null && environment.kind === 'development';
}

/** GET /: what this is and where to go. */
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
      web.renderPage(res, 'dev/home', { ...base, base_url: ctx.environment.issuer, user, mailbox: hasMailbox(req) });
    } catch (error) {
      next(error);
    }
  };
}
