import type { Request, Response } from 'express';
import { connectionForEmail, connectionsOfOrganization, offeredConnections } from '../../domain/connections/client-connections.js';
import { clientOf, type Client } from '../../domain/clients/clients.js';
import type { Connection } from '../../domain/connections/connections.js';
import { PageError } from '../../errors.js';
import { formPage } from '../../http/auth/csrf.js';
import { errorMessage } from '../../http/pages/error-texts.js';
import { queryOf, wantsJson } from '../../http/request/form.js';
import { formActionSource, type PageNotice, type PageConnection } from '../../http/pages/pages.js';
import { leadsToDevice, pendingClientId, pendingHere, pendingOf, safeReturnTo } from '../../http/request/return-to.js';
import { organizationOfSignIn } from '../../http/auth/sign-in-organization.js';
import { isTaken, takeStep } from '../../http/auth/sign-in.js';
import type { Web } from '../../http/web.js';
import { answerStep } from './answer.js';
import { passkeyPart, signInOptions } from '../../http/auth/passkey-part.js';
import { pageClient, shownNameOf } from '../../http/pages/shown-client.js';
import { wordsOf, type Words } from '../../http/pages/words.js';
import { message } from '../../lib/languages/messages.js';

const home = '/account';

/** The client of the pending authorization request in the return path; null without one. */
export async function pendingClient(req: Request, return_to: string | null): Promise<Client | null> {
  const client_id = pendingClientId(req, return_to);
  return client_id === null ? null : clientOf(req.ctx, client_id);
}

/** Chromium applies `form-action` to redirects that follow a form post, so the pending client's redirect target is named there. */
export function pendingFormAction(req: Request, return_to: string | null): string[] {
  const uri = pendingOf(req, return_to)?.parameters['redirect_uri'];
  return uri !== undefined && URL.canParse(uri) ? [formActionSource(uri)] : [];
}

/** The connections that are offered to whoever signs in for the client, those of the organization that it is for first, as buttons. */
export async function connectionButtons(req: Request, client: Client | null): Promise<PageConnection[]> {
  const organization = await organizationOfSignIn(req, client, pendingHere(req));
  const theirs = organization ? await connectionsOfOrganization(req.ctx, organization.id) : [];
  return [...theirs, ...(await offeredConnections(req.ctx, client?.id ?? null))].map(({ id, display_name, strategy }) => ({
    id,
    display_name,
    strategy: strategy as PageConnection['strategy'],
  }));
}

type LoginState = {
  return_to: string | null;
  email: string;
  errors?: Record<string, string>;
  status?: number;
  notice?: PageNotice | null;
  /** The id of a credential that was just presented, and that nobody has. */
  unknown_passkey?: string | null;
};

/** What the sign-in is for: the application that waits, or a device that is to be connected. */
function titleOf(words: Words, client: Client | null, return_to: string | null): string {
  const { t } = words;
  if (client) return t('login.title_for', { client: shownNameOf(words, client) });
  return t(leadsToDevice(return_to) ? 'login.title_for_device' : 'login.title');
}

/** The sign-in page. Without factors it costs no statement more than the session and the connections. */
export async function renderLogin(web: Web, req: Request, res: Response, state: LoginState): Promise<void> {
  const { environment } = req.ctx;
  const client = await pendingClient(req, state.return_to);
  web.renderPage(
    res,
    'account/login',
    {
      ...formPage(req, res, titleOf(wordsOf(req), client, state.return_to)),
      client: pageClient(wordsOf(req), client),
      return_to: state.return_to ?? '',
      connections: await connectionButtons(req, client),
      company_login: (await offeredConnections(req.ctx, client?.id ?? null)).some(({ domains }) => domains.length > 0),
      registration_enabled: environment.registration_enabled,
      email_code: environment.email_code_sign_in_enabled,
      passkey: environment.passkeys_enabled ? passkeyPart(req, '/login/passkey/options', await signInOptions(req, res)) : null,
      unknown_passkey: state.unknown_passkey ?? null,
      values: { email: state.email },
      errors: state.errors,
      notice: state.notice,
    },
    { status: state.status ?? 200, formAction: pendingFormAction(req, state.return_to) },
  );
}

/** Whether the pending request wants a sign-in that happens now, so that an earlier session doesn't do. */
function wantsFreshLogin(req: Request, return_to: string | null): boolean {
  const pending = pendingOf(req, return_to);
  if (pending === null || !pending.fresh || req.session === null) return false;
  return req.session.signed_in_at.getTime() < (pending.from ?? pending.at);
}

/** GET /login. Fields in the query are never tried, only `return_to` and `login_hint` are read. */
export const loginPage = (web: Web) => async (req: Request, res: Response) => {
  const query = queryOf(req);
  const return_to = safeReturnTo(query.get('return_to'));
  if (req.session && !wantsFreshLogin(req, return_to)) return res.redirect(303, return_to ?? home);
  // Said to somebody who comes from there.
  const isReset = query.get('notice') === 'password_reset';
  const notice: PageNotice | null = isReset ? { tone: 'good', text: wordsOf(req).t('login.password_reset_done') } : null;
  await renderLogin(web, req, res, { return_to, email: query.get('login_hint')?.slice(0, 255) ?? '', notice });
};

const text = (value: unknown) => (typeof value === 'string' ? value : '');

/** Home-realm discovery: the address's domain belongs to a connection, and the person goes straight there (specification 8.5.1). */
function toConnection(req: Request, res: Response, connection: Connection, email: string, return_to: string | null): void {
  const query = new URLSearchParams({ from: 'form', login_hint: email.trim().slice(0, 255), ...(return_to !== null && { return_to }) });
  const redirect_to = `/auth/sso/${connection.id}?${query}`;
  if (wantsJson(req)) res.set('Cache-Control', 'no-store').json({ user: null, redirect_to });
  else res.redirect(303, redirect_to);
}

const refusals = {
  blocked: [403, 'account_blocked'],
  breached: [403, 'password_reset_required'],
  invalid: [401, 'invalid_credentials'],
} as const;

/** POST /login (specification 4.3.1): one answer and one time for every failed sign-in. */
export const login = (web: Web) => async (req: Request, res: Response) => {
  const body = req.body as Record<string, unknown>;
  const [email, password, return_to] = [text(body['email']), text(body['password']), safeReturnTo(body['return_to'])];
  if (password.length > 4096) throw new PageError(400, 'invalid_request', message('refusal.password_input_too_long'));
  const connection = await connectionForEmail(req.ctx, email, pendingClientId(req, return_to));
  if (connection && password === '') return toConnection(req, res, connection, email, return_to);
  const reached = await takeStep(req, res, { method: 'password', email, password }, { return_to });
  if (isTaken(reached)) return answerStep(req, res, reached, return_to);
  // A local password still signs in, so that the administrator of a broken connection can repair it.
  if (connection && reached.outcome === 'invalid') return toConnection(req, res, connection, email, return_to);
  const [status, code] = refusals[reached.outcome];
  if (wantsJson(req)) throw new PageError(status, code, errorMessage(code));
  await renderLogin(web, req, res, { return_to, email, errors: { form: wordsOf(req).say(errorMessage(code)) }, status });
};
