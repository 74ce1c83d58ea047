import type { Request, Response } from 'express';
import { connectionOf, type Connection } from '../domain/connections/connections.js';
import type { ProviderAccount } from '../domain/connections/identities.js';
import { findUser, type UserRow } from '../db/tables/users.js';
import { formPage } from '../http/auth/csrf.js';
import { isLanguageSwitch } from '../http/pages/language-switch.js';
import { formActionSource } from '../http/pages/pages.js';
import { pendingOf } from '../http/request/return-to.js';
import { onwardPath, takeStep } from '../http/auth/sign-in.js';
import type { Web } from '../http/web.js';
import { normalizeEmail } from '../lib/email-address.js';
import type { Aad } from '../lib/seal.js';
import type { ProviderAssertion } from './provider-assertion.js';
import { browserMark, isBrowserMark } from './flow.js';
import { requiresOtherConnection } from '../domain/sign-ins/provider-decision.js';
import { strategyOfPage } from './page-models.js';
import { backToSignIn, ssoRefusal } from './refusal.js';
import { accountOf } from '../domain/sign-ins/provider-account.js';
import { wordsOf } from '../http/pages/words.js';

/** A login that waits for the proof of the local account: bound to the user, the connection, the provider's subject and this browser. */
type Waiting = {
  readonly user_id: string;
  readonly account: ProviderAccount;
  /** What the provider says of the sign-in there. */
  readonly amr: string[];
  readonly acr: string | null;
  readonly sid?: string | null;
  readonly session_until: string | null;
  /** The two were connected before; the person names the local account as well, so that the page tells a stranger nothing of it. */
  readonly again: boolean;
  readonly return_to: string | null;
  readonly browser: string | null;
  /** Milliseconds. */
  readonly until: number;
};

const lifetimeMs = 600_000;
const aadOf = (req: Request): Aad => `sso-link ${req.ctx.environment.id}`;

function openWaiting(req: Request): Waiting | null {
  const text = req.ctx.crypto.sealer.openText(req.form.get('link') ?? '', aadOf(req));
  const waiting = text === null ? null : (JSON.parse(text) as Waiting);
  if (!waiting || waiting.until <= req.ctx.clock.now().getTime()) return null;
  return waiting.browser !== null && isBrowserMark(req, waiting.browser) ? waiting : null;
}

type LinkPage = { link: string; waiting: Waiting; email: string; connection: Connection; failed?: boolean };

function render(web: Web, req: Request, res: Response, { link, waiting, email, connection, failed = false }: LinkPage): void {
  // Chromium applies `form-action` to redirects that follow a form post.
  const redirect_uri = pendingOf(req, waiting.return_to)?.parameters['redirect_uri'];
  const { display_name } = connection;
  const { t } = wordsOf(req);
  web.renderPage(
    res,
    'account/link-account',
    {
      ...formPage(req, res, t(waiting.again ? 'link.title_again' : 'link.title', { provider: display_name })),
      action: '/auth/sso/link',
      hidden: { link },
      email,
      again: waiting.again,
      connection: { display_name, strategy: strategyOfPage(connection) },
      errors: failed ? { password: t(waiting.again ? 'error.invalid_credentials' : 'error.invalid_password') } : undefined,
    },
    {
      status: failed ? 401 : 200,
      formAction: redirect_uri !== undefined && URL.canParse(redirect_uri) ? [formActionSource(redirect_uri)] : [],
    },
  );
}

/** The page with the local account's password form (specification 8.3.2: `account_linking` `ask`, and links that a change of the connection has voided). */
export function askForProof(
  web: Web,
  req: Request,
  res: Response,
  { flow, connection, profile, authentication, session_until, user, again }: ProviderAssertion & { user: UserRow; again: boolean },
): void {
  const waiting: Waiting = {
    user_id: user.id,
    account: accountOf(connection, profile),
    amr: authentication.amr,
    acr: authentication.acr,
    sid: authentication.sid ?? null,
    session_until: session_until && session_until.toISOString(),
    again,
    return_to: flow.return_to,
    browser: browserMark(req),
    until: req.ctx.clock.now().getTime() + lifetimeMs,
  };
  const link = req.ctx.crypto.sealer.sealText(JSON.stringify(waiting), aadOf(req));
  render(web, req, res, { link, waiting, connection, email: again ? (profile.email?.email ?? '') : user.email });
}

/** The id of the user that a link form is for, by which attempts are rate limited; null when its sealed content is invalid or expired. */
export const linkIdentifier = (req: Request): string | null => openWaiting(req)?.user_id ?? null;

/** The address whose password is asked for: the pending account's only; another one takes the same time and is refused. */
function addressOf(req: Request, waiting: Waiting, user: UserRow): string {
  const typed = waiting.again ? normalizeEmail(req.form.get('email') ?? '')?.email_key : user.email_key;
  return typed === user.email_key ? user.email : '';
}

/**
 * POST /auth/sso/link: with a whole sign-in to the local account, the second step too where one is due, the two accounts are one from now on.
 * @throws {PageError} 409 when the account at the provider was linked to another user meanwhile
 */
export const linkAccount = (web: Web) => async (req: Request, res: Response) => {
  const waiting = openWaiting(req);
  if (waiting) req.return_to = waiting.return_to;
  const connection = waiting && (await connectionOf(req.ctx, waiting.account.connection_id));
  const user = waiting && (await findUser(req.ctx.scope, waiting.user_id));
  if (!waiting || !user) throw ssoRefusal('sso_state_mismatch', { next: backToSignIn(null) });
  if (connection?.status !== 'enabled') throw ssoRefusal('not_found');
  // The connection has changed since: what the earlier provider said doesn't count.
  if (connection.generation !== waiting.account.generation)
    throw ssoRefusal('sso_state_mismatch', { next: backToSignIn(waiting.return_to) });
  if (await requiresOtherConnection(req.ctx, connection, user.email)) throw ssoRefusal('sso_domain_not_allowed');
  const email = waiting.again ? (req.form.get('email') ?? '').slice(0, 254) : user.email;
  const shown = { link: req.form.get('link') ?? '', waiting, connection, email };
  if (isLanguageSwitch(req, res)) return render(web, req, res, shown);
  const { amr, acr, sid = null, account, session_until, return_to } = waiting;
  const provider_account = { account, provider: connection.display_name, by_word: false, session_until };
  const password = req.form.get('password') ?? '';
  const given = { email: addressOf(req, waiting, user), password, provider: { amr, acr, auth_time: null, sid }, provider_account };
  const reached = await takeStep(req, res, { method: 'local_account', ...given }, { return_to });
  if (reached.outcome === 'blocked') throw ssoRefusal('account_blocked');
  if (reached.outcome === 'breached')
    throw ssoRefusal('password_reset_required', { next: { href: '/password/forgot', label: 'reset.title' } });
  if (reached.outcome === 'invalid') return render(web, req, res, { ...shown, failed: true });
  res.redirect(303, onwardPath(reached, return_to));
};
