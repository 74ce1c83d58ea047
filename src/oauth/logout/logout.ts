import type { NextFunction, Request, Response } from 'express';
import { clientOf } from '../../domain/clients/clients.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';
import { PageError } from '../../errors.js';
import { signInSession } from '../../http/auth/browser-session.js';
import { signOut } from '../../http/auth/claimant.js';
import { csrf, formPage } from '../../http/auth/csrf.js';
import { isForeignPost, queryOf } from '../../http/request/form.js';
import { basePage, formActionSource } from '../../http/pages/pages.js';
import type { Web } from '../../http/web.js';
import { withParameters } from '../../lib/redirect-uri.js';
import { oauthEndpoints } from '../endpoints.js';
import { readLogoutRequest, type LogoutRequest, type Stay } from './request.js';
import { pageClient } from '../../http/pages/shown-client.js';
import { wordsOf } from '../../http/pages/words.js';
import { message } from '../../lib/languages/messages.js';

export const logoutConfirmPath = '/oauth/logout/confirm';
const aad = 'logout-request';

/** Where a logout leads; sealed into the confirmation page. */
type Destination = {
  readonly client_id: string | null;
  readonly redirect_uri: string | null;
  readonly stays: Stay | null;
  readonly state: string | null;
};

const destinationOf = ({ client, redirect_uri, stays, state }: LogoutRequest): Destination => ({
  client_id: client?.id ?? null,
  redirect_uri,
  stays,
  state: state ?? null,
});

/** The end of every logout: back to the application with `state`, or a page that says so (RP-Initiated Logout 1.0 3). */
async function answerLoggedOut(
  web: Web,
  req: Request,
  res: Response,
  { client_id, redirect_uri, stays, state }: Destination,
): Promise<void> {
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('Referrer-Policy', 'no-referrer');
  if (redirect_uri !== null) {
    res.redirect(303, state === null ? redirect_uri : withParameters(redirect_uri, { state }));
    return;
  }
  const client = client_id === null ? null : await clientOf(req.ctx, client_id);
  req.branded_for = client;
  const base = basePage(req.ctx.environment, { title: wordsOf(req).t('logged_out.title'), request_id: req.request_id });
  web.renderPage(res, 'oauth/logged-out', {
    ...base,
    client: pageClient(wordsOf(req), client),
    stays,
    next: { href: '/login', label: wordsOf(req).t('logged_out.again') },
  });
}

function confirm(web: Web, req: Request, res: Response, request: LogoutRequest, session: BrowserSession): void {
  const { environment } = req.ctx;
  const { sealer } = req.ctx.crypto;
  const { client, redirect_uri } = request;
  const name = [session.user_first_name, session.user_last_name].filter(Boolean).join(' ');
  req.branded_for = client;
  const base = formPage(req, res, wordsOf(req).t('logout.title_asking'));
  const sealed = sealer.sealText(JSON.stringify(destinationOf(request)), `${aad} ${environment.id}`);
  web.renderPage(
    res,
    'oauth/logout-confirm',
    {
      ...base,
      client: pageClient(wordsOf(req), client),
      user: { email: session.user_email, name },
      action: logoutConfirmPath,
      hidden: { request: sealed },
    },
    { formAction: redirect_uri === null ? [] : [formActionSource(redirect_uri)] },
  );
}

/**
 * GET and POST /oauth/logout (RP-Initiated Logout 1.0 2). An ID token of the person who is signed in ends the session at once; without
 * one the person is asked, because a link alone must not sign anybody out. Nobody signed in: there is nothing to end.
 */
export const endSession = (web: Web) => async (req: Request, res: Response) => {
  const parameters = req.method === 'POST' ? req.form : queryOf(req);
  const request = await readLogoutRequest(req.ctx, parameters);
  const session = signInSession(req);
  if (isForeignPost(req)) {
    // Another site's form comes without our cookie; the GET that follows comes with it.
    const again = withParameters(oauthEndpoints.end_session_endpoint, parameters.all);
    if (again.length <= 8_192) return res.redirect(303, again);
  }
  if (session !== null && request.hint?.sub !== session.user_id) return confirm(web, req, res, request, session);
  await signOut(req, res);
  // Without an ID token nothing shows that the application's request is the person's own: no redirect (RP-Initiated Logout 1.0 2).
  const destination = destinationOf(request);
  const unproven = request.hint === null && request.redirect_uri !== null;
  await answerLoggedOut(web, req, res, unproven ? { ...destination, redirect_uri: null, stays: 'unproven' } : destination);
};

/** Middleware: `csrf` for signed-in browsers; a second click, or one after a sign-out in another tab, passes without a token. */
export async function csrfWhileSignedIn(req: Request, res: Response, next: NextFunction): Promise<void> {
  if (signInSession(req) === null) return next();
  await csrf(req, res, next);
}

/** POST /oauth/logout/confirm: the person's answer. */
export const confirmLogout = (web: Web) => async (req: Request, res: Response) => {
  const { form, ctx } = req;
  const decision = form.get('decision');
  if (decision === 'stay') return res.redirect(303, '/account');
  const text = ctx.crypto.sealer.openText(form.get('request') ?? '', `${aad} ${ctx.environment.id}`);
  if (decision !== 'logout' || text === null) throw new PageError(400, 'invalid_request', message('refusal.form_changed'));
  await signOut(req, res);
  await answerLoggedOut(web, req, res, JSON.parse(text) as Destination);
};
