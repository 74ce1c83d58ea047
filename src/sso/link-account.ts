import type { Request, Response } from 'express';
import { transaction } from '../core/context.js';
import { connectionOf, type Connection } from '../core/connections.js';
import { linkToAccount, type ProviderAccount } from '../core/identities.js';
import { provePassword } from '../core/login.js';
import { findIdentity } from '../db/tables/identities.js';
import { findUser, type UserRow } from '../db/tables/users.js';
import { csrfToken } from '../http/csrf.js';
import { errorTexts } from '../http/error-texts.js';
import { originOf } from '../http/mail-origin.js';
import { basePage, formActionSource } from '../http/pages.js';
import { pendingOf } from '../http/return-to.js';
import { signIn } from '../http/sign-in.js';
import type { Web } from '../http/web.js';
import type { Answer } from './callback.js';
import { browserMark } from './flow.js';
import { strategyOfPage } from './page-models.js';
import { authenticationOf } from './profile.js';
import { backToSignIn, ssoRefusal } from './refusal.js';
import { accountOf, isTaken } from './settle.js';

/** A login that waits for the proof of the local account: bound to the user, the connection, the provider's subject and this browser. */
type Waiting = {
  readonly user_id: string;
  readonly account: ProviderAccount;
  readonly amr: string[];
  readonly acr: string | null;
  readonly return_to: string | null;
  readonly browser: string | null;
  /** Milliseconds. */
  readonly until: number;
};

const lifetimeMs = 600_000;
const place = (req: Request) => `sso-link ${req.ctx.environment.id}`;

function openWaiting(req: Request): Waiting | null {
  const text = req.ctx.sealer.openText(req.form.get('link') ?? '', place(req));
  const waiting = text === null ? null : (JSON.parse(text) as Waiting);
  if (!waiting || waiting.until <= req.ctx.clock.now().getTime()) return null;
  return waiting.browser !== null && waiting.browser === browserMark(req) ? waiting : null;
}

function render(
  web: Web,
  req: Request,
  res: Response,
  page: { link: string; user: UserRow; connection: Connection; return_to: string | null; failed?: boolean },
): void {
  const { connection, user } = page;
  // Chromium applies `form-action` to redirects that follow a form post.
  const redirect_uri = pendingOf(req, page.return_to)?.parameters['redirect_uri'];
  web.renderPage(
    res,
    'account/link-account',
    {
      ...basePage(req.ctx.environment, {
        title: `Connect ${connection.display_name} to your account`,
        request_id: req.request_id,
        csrf_token: csrfToken(req, res),
      }),
      action: '/auth/sso/link',
      hidden: { link: page.link },
      email: user.email,
      connection: { display_name: connection.display_name, strategy: strategyOfPage(connection) },
      errors: page.failed ? { password: errorTexts.invalid_password } : undefined,
    },
    {
      status: page.failed ? 401 : 200,
      formAction: redirect_uri !== undefined && URL.canParse(redirect_uri) ? [formActionSource(redirect_uri)] : [],
    },
  );
}

/** The page with the local account's password form (specification 8.3.2). */
export function askForProof(
  web: Web,
  req: Request,
  res: Response,
  { flow, connection, profile, claims, user }: Answer & { user: UserRow },
): void {
  const waiting: Waiting = {
    user_id: user.id,
    account: accountOf(connection, profile),
    ...authenticationOf(claims),
    return_to: flow.return_to,
    browser: browserMark(req),
    until: req.ctx.clock.now().getTime() + lifetimeMs,
  };
  const link = req.ctx.sealer.sealText(JSON.stringify(waiting), place(req));
  render(web, req, res, { link, user, connection, return_to: flow.return_to });
}

/** The local account that a link form is for, when it may be proven here; fills the identifier that attempts are counted by. */
export function linkIdentifier(req: Request): string | null {
  return openWaiting(req)?.user_id ?? null;
}

/** POST /auth/sso/link: with the local account's password the two accounts are one, from now on. */
export function linkAccount(web: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    const waiting = openWaiting(req);
    const connection = waiting && (await connectionOf(req.ctx, waiting.account.connection_id));
    const user = waiting && (await findUser(req.ctx.scope, waiting.user_id));
    if (!waiting || !user) throw ssoRefusal('sso_state_mismatch', { next: backToSignIn(null) });
    if (connection?.status !== 'enabled') throw ssoRefusal('not_found');
    const password = req.form.get('password') ?? '';
    const verdict = password.length > 4096 ? null : await provePassword(req.ctx, user.email, password, originOf(req));
    if (verdict?.outcome === 'blocked') throw ssoRefusal('account_blocked');
    if (verdict?.outcome !== 'ok') {
      req.ctx.metrics.logins.inc({ method: 'sso', outcome: 'invalid' });
      return render(web, req, res, { link: req.form.get('link') ?? '', user, connection, return_to: waiting.return_to, failed: true });
    }
    await link(req, user, waiting.account, connection.display_name);
    await signIn(req, res, user.id, [...new Set([...waiting.amr, 'pwd'])], waiting.acr, verdict.user.password_hash);
    req.ctx.metrics.logins.inc({ method: 'sso', outcome: 'ok' });
    res.redirect(303, waiting.return_to ?? '/account');
  };
}

/** Ties the two; a form sent twice finds it done, and an account that has become somebody else's stays theirs. */
async function link(req: Request, user: UserRow, account: ProviderAccount, provider: string): Promise<void> {
  try {
    await transaction(req.ctx, (tx) => linkToAccount(tx, user, account, { provider, origin: originOf(req) }));
  } catch (error) {
    if (!isTaken(error)) throw error;
    const existing = await findIdentity(req.ctx.scope, account.connection_id, account.subject);
    if (existing?.user_id !== user.id) throw ssoRefusal('sso_account_exists');
  }
}
