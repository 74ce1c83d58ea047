import type { Request, RequestHandler, Response } from 'express';
import { enabledConnections, requiredConnectionFor, tellsAuthTime } from '../../domain/connections/connections.js';
import { listIdentities } from '../../domain/connections/identities.js';
import { provePassword } from '../../domain/passwords/prove-password.js';
import { isProvenWithin, type BrowserSession } from '../../domain/sessions/sessions.js';
import { proofNow } from '../../domain/sessions/proofs.js';
import { findUser } from '../../db/tables/users.js';
import { PageError } from '../../errors.js';
import { csrfToken } from './csrf.js';
import { deviceOf, lastSignInHere } from './device-cookie.js';
import { errorTexts } from '../pages/error-texts.js';
import { wantsJson } from '../request/form.js';
import { originOf } from '../pages/mail-origin.js';
import type { FormPage, PageConnection } from '../pages/page-models.js';
import { basePage } from '../pages/pages.js';
import { addressKey, limitBy } from '../limits/rate-limits.js';
import { signIn } from './sign-in.js';
import type { Web } from '../web.js';

/** Between an action of the account page and what it does. Posts `current_password` to `action`, the address that was posted to. */
export interface FreshSignInPage extends FormPage {
  action: string;
  email: string;
  /** Whether a password proves it here. */
  password: boolean;
  /** Whether one can be had by mail. */
  by_mail: boolean;
  /** Connections that prove it; `href` leads back to the account page. */
  ways: (PageConnection & { href: string })[];
}

declare module '../pages/page-models.js' {
  interface PageModels {
    'account/fresh-sign-in': FreshSignInPage;
  }
}

const freshMs = 10 * 60_000;

/** The form field, or JSON member, that holds the password for re-authentication. */
export const proofField = 'current_password';

function sessionOf(req: Request): BrowserSession {
  if (!req.session) throw new Error('this handler is for somebody signed in');
  return req.session;
}

/** Whether the session's last authentication is more than ten minutes ago, or its time unknown. @throws {Error} without a session */
export function isStale(req: Request): boolean {
  return !isProvenWithin(req.ctx, sessionOf(req), freshMs);
}

/** The ways in which the person can authenticate again: by password, or through a linked connection. */
export type WaysToProve = {
  readonly password: boolean;
  readonly connections: readonly PageConnection[];
  /** Whether a password can be had by mail: not where one connection is the only way in. */
  readonly by_mail: boolean;
};

/** The ways of the signed-in person. Connections that don't send `auth_time` are left out. */
export async function waysToProve(req: Request): Promise<WaysToProve> {
  const { ctx } = req;
  const { user_id, user_email } = sessionOf(req);
  const required = await requiredConnectionFor(ctx, user_email);
  const linked = new Set((await listIdentities(ctx, user_id)).filter(({ proven }) => proven).map(({ connection_id }) => connection_id));
  const connections = (await enabledConnections(ctx))
    .filter((connection) => linked.has(connection.id) && tellsAuthTime(connection) && (required === null || required.id === connection.id))
    .map(({ id, display_name, strategy }) => ({ id, display_name, strategy: strategy as PageConnection['strategy'] }));
  const user = required === null ? await findUser(ctx.scope, user_id) : null;
  return { password: user?.password_hash != null, connections, by_mail: required === null };
}

/** Where somebody signs in once more through a connection, and comes back from. */
export function provePath(connection: Pick<PageConnection, 'id'>, return_to: string): string {
  return `/auth/sso/${connection.id}?${new URLSearchParams({ prompt: 'login', return_to }).toString()}`;
}

/** `proven`: the sign-in is fresh, or the password right; `missing`: neither a fresh sign-in nor a password; `wrong`: a wrong password. */
export type ProofOutcome = 'proven' | 'missing' | 'wrong';

function passwordOf(req: Request): string | undefined {
  const member: unknown = (req.body as Record<string, unknown> | undefined)?.[proofField];
  return req.form.get(proofField) ?? (typeof member === 'string' ? member : undefined);
}

/**
 * Middleware: the limits of the login, per address and per account, for a password that is to prove a fresh sign-in; nothing else is counted.
 * Needs `browserSession` and a parsed body before.
 */
export function limitProof(web: Web): RequestHandler[] {
  const limit = web.deps.config.rateLimits.login;
  const proves = (req: Request) => req.session !== null && isStale(req) && passwordOf(req) !== undefined;
  const accountOf = (req: Request, known: boolean): string | null => {
    if (!proves(req)) return null;
    const { user_id, user_email } = sessionOf(req);
    return (lastSignInHere(req, user_id) !== null) === known ? `${req.ctx.environment.id} ${user_email.toLowerCase()}` : null;
  };
  return [
    limitBy(web, { name: 'login', limit, key: (req) => (proves(req) ? `${req.ctx.environment.id} ${addressKey(req.ip)}` : null) }),
    limitBy(web, { name: 'login_email', limit, key: (req) => accountOf(req, false) }),
    limitBy(web, { name: 'login_known', limit, key: (req) => accountOf(req, true) }),
  ];
}

/**
 * Whether the sign-in is fresh, or the request bears the right password, which renews it. A wrong one counts towards the lockout of the account.
 * Needs {@link limitProof} before.
 */
export async function prove(req: Request, res: Response): Promise<ProofOutcome> {
  if (!isStale(req)) return 'proven';
  const password = passwordOf(req);
  if (password === undefined) return 'missing';
  const session = sessionOf(req);
  const user = await findUser(req.ctx.scope, session.user_id);
  const by = { origin: originOf(req), device: deviceOf(req) };
  const verdict = user && password.length <= 1024 ? await provePassword(req.ctx, user.email, password, by) : null;
  if (verdict?.outcome !== 'ok' || verdict.user.id !== session.user_id) return 'wrong';
  const now = req.ctx.clock.now();
  const proofs = [proofNow('password', now)];
  await signIn(req, res, { user_id: session.user_id, proofs, proven_hash: verdict.user.password_hash });
  req.session = { ...session, authenticated_at: now, signed_in_at: now, auth_time_known: true, provider_amr: null, provider_acr: null };
  return 'proven';
}

async function ask(web: Web, req: Request, res: Response, wrong: boolean): Promise<void> {
  const { password, connections, by_mail } = await waysToProve(req);
  web.renderPage(
    res,
    'account/fresh-sign-in',
    {
      ...basePage(req.ctx.environment, { title: 'Show that it is still you', request_id: req.request_id, csrf_token: csrfToken(req, res) }),
      action: req.originalUrl.split('?')[0] ?? req.originalUrl,
      email: sessionOf(req).user_email,
      password,
      by_mail,
      ways: connections.map((connection) => ({ ...connection, href: provePath(connection, '/account') })),
      errors: wrong ? { [proofField]: errorTexts.invalid_password } : undefined,
    },
    { status: wrong ? 401 : 403 },
  );
}

/**
 * Lets an action of the account page pass within ten minutes of a sign-in, or with the password asked on the spot: others get a page that
 * asks for it, JSON 403 `fresh_sign_in_required` or 401 `invalid_password`. Needs `signedIn`, a parsed body and `csrf` before.
 * @throws {PageError}
 */
export function freshSignIn(web: Web): RequestHandler[] {
  const requireProof: RequestHandler = async (req, res, next) => {
    const proof = req.session === null ? 'proven' : await prove(req, res);
    if (proof === 'proven') return next();
    if (!wantsJson(req)) return ask(web, req, res, proof === 'wrong');
    if (proof === 'missing') throw new PageError(403, 'fresh_sign_in_required', errorTexts.fresh_sign_in_required);
    throw new PageError(401, 'invalid_password', errorTexts.invalid_password, { fields: { [proofField]: ['invalid_password'] } });
  };
  return [...limitProof(web), requireProof];
}
