import type { Request, Response } from 'express';
import { connectionOf, type Connection } from '../domain/connections/connections.js';
import { noteSecurityEvent, userParty } from '../domain/audit/security-trail.js';
import { noteLogin } from '../domain/sign-ins/advance.js';
import { PageError } from '../errors.js';
import { queryOf } from '../http/request/form.js';
import { originOf } from '../http/pages/mail-origin.js';
import { onWayTo } from '../http/request/return-to.js';
import type { Web } from '../http/web.js';
import type { Parameters } from '../lib/parameters.js';
import type { Aad } from '../lib/seal.js';
import type { SecurityEventReason } from '../lib/security-event.js';
import { finishAccess } from './provider-access.js';
import { finishConnect } from './connect.js';
import { finishTest } from './connection-test.js';
import { redeemFlow, type Flow } from './flow.js';
import type { ProviderAssertion } from './provider-assertion.js';
import { finishLogin } from './login.js';
import { authenticationOf, readProfile } from './profile.js';
import { isAnswerOf, openProvider } from './provider.js';
import { countAtProvider, countFailureAtProvider } from './provider-count.js';
import { inTime, ProviderFailure, providerRefusal } from './provider-failure.js';
import type { ProviderMemory } from './provider-memory.js';
import { backToSignIn, ssoRefusal, withNext } from './refusal.js';
import type { Redeemed } from './strategies/strategy.js';

const aadOf = (req: Request): Aad => `sso-answer ${req.ctx.environment.id}`;
const answerLifetimeMs = 60_000;
/** The parameters of an authorization response that are read; `user` is Apple's. */
const answerNames = ['code', 'state', 'iss', 'error', 'user'] as const;
const maxAnswerLength = 6144;

/**
 * POST /auth/sso/callback (OAuth 2.0 Form Post Response Mode): another site's post carries no cookies of ours, so the browser comes in
 * once more by GET, with the answer sealed in the address.
 */
export function redirectFormPost(req: Request, res: Response): void {
  const answer = Object.fromEntries(answerNames.flatMap((name) => (req.form.get(name) === undefined ? [] : [[name, req.form.get(name)]])));
  const text = JSON.stringify({ answer, at: req.ctx.clock.now().getTime() });
  if (text.length > maxAnswerLength || answerNames.some((name) => req.form.repeated.has(name))) throw ssoRefusal('sso_state_mismatch');
  res.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  res.redirect(303, `/auth/sso/callback?answer=${req.ctx.crypto.sealer.sealText(text, aadOf(req))}`);
}

/** The answer's parameters, from the address or from what was posted. */
function answerOf(req: Request): Record<string, string> {
  const query: Parameters = queryOf(req);
  const sealed = query.get('answer');
  if (sealed === undefined) {
    if (answerNames.some((name) => query.repeated.has(name))) throw ssoRefusal('sso_state_mismatch');
    return { ...query.all };
  }
  const text = req.ctx.crypto.sealer.openText(sealed, aadOf(req));
  const opened = text === null ? null : (JSON.parse(text) as { answer: Record<string, string>; at: number });
  if (!opened || req.ctx.clock.now().getTime() - opened.at > answerLifetimeMs) throw ssoRefusal('sso_state_mismatch');
  return opened.answer;
}

/** Error codes with which providers say that the person declined (RFC 6749 4.1.2.1, OIDC Core 3.1.2.6, Apple). */
const declined = new Set([
  'access_denied',
  'user_cancelled_authorize',
  'user_cancelled_login',
  'interaction_required',
  'login_required',
  'consent_required',
]);

/** Exchanges the code; by now the state has been found to be this browser's, and is spent. */
async function exchange(
  req: Request,
  memory: ProviderMemory,
  flow: Flow,
  connection: Connection,
  answer: Record<string, string>,
): Promise<ProviderAssertion> {
  try {
    const opened = openProvider(req.ctx, connection, memory);
    if (!opened) throw ssoRefusal('not_found');
    const { provider, strategy, isOidc, isSigned } = opened;
    const work = async (): Promise<Redeemed> => {
      const server = await strategy.server(provider);
      // RFC 9207 2.4: before anything of it is used, and before the code goes anywhere.
      if (!isAnswerOf(server, answer['iss'])) {
        throw ssoRefusal('sso_state_mismatch', { cause: new ProviderFailure('the answer is not from the provider that was asked (iss)') });
      }
      // RFC 9700 4.4: what the metadata or the connection say by now may be another's doing.
      if (server.token_endpoint !== flow.token_endpoint)
        throw ssoRefusal('sso_state_mismatch', {
          cause: new ProviderFailure('the token endpoint is another one than when the sign-in began'),
        });
      const { error, code, state = '' } = answer;
      if (error) {
        const cause = new ProviderFailure(`the provider answered ${error.slice(0, 64)}`);
        throw declined.has(error) ? ssoRefusal('sso_access_denied', { cause }) : cause;
      }
      if (!code) throw ssoRefusal('sso_provider_error', { status: 400, cause: new ProviderFailure('the answer has no code') });
      return strategy.redeem(provider, {
        code,
        state,
        nonce: flow.nonce,
        verifier: flow.verifier,
        parameters: answer,
        keeps: flow.keeps ?? null,
      });
    };
    const { claims, session_until = null, spend = null, tokens = null } = await inTime(req.ctx, work);
    const profile = readProfile(connection, claims, isOidc);
    return { flow, connection, claims, profile, authentication: authenticationOf(claims, isSigned), session_until, spend, tokens };
  } catch (error) {
    // The cached provider metadata may be outdated: the next login fetches it anew.
    if (!(error instanceof PageError)) memory.forget(connection);
    throw providerRefusal(error);
  }
}

/** The response that was posted for the flow; what the address says counts for nothing. @throws {PageError} when none came */
function postedAnswer({ answer }: { readonly answer: string | null }): Record<string, string> {
  if (answer === null) throw ssoRefusal('sso_state_mismatch');
  return { code: answer };
}

const finish = { login: finishLogin, connect: finishConnect, access: finishAccess, test: finishTest.answered } as const;

/** Whether an account is connected to whoever is signed in. */
const isConnecting = ({ purpose }: Flow) => purpose === 'connect' || purpose === 'access';

/** The link of an error page back to where the flow began. */
const wayBack = (flow: Flow) =>
  isConnecting(flow) ? ({ href: '/account', label: 'common.back_to_account' } as const) : backToSignIn(flow.return_to);

/** Records a refused sign-in, or a refused linking of accounts, as a security event; a connection test records nothing. */
function noteRefusal(req: Request, flow: Flow, connection: Connection, reason: SecurityEventReason): void {
  if (flow.purpose === 'test') return;
  const { session } = req;
  const connecting = isConnecting(flow) && session ? userParty({ id: session.user_id, email: session.user_email }).actor : undefined;
  const target = { target_type: 'connection', target_id: connection.id, display: connection.display_name };
  noteSecurityEvent(req.ctx, isConnecting(flow) ? 'identity.link_failed' : 'login.failed', {
    ...(connecting && { actor: connecting }),
    target,
    origin: originOf(req),
    reason,
  });
}

/** GET /auth/sso/callback: the one address that all providers send people back to; the connection comes from the state. */
export function callback(web: Web, memory: ProviderMemory) {
  return async (req: Request, res: Response): Promise<void> => {
    res.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
    const answer = answerOf(req);
    const flow = answer['state'] ? await redeemFlow(req, answer['state']) : null;
    if (!flow) throw ssoRefusal('sso_state_mismatch', { next: backToSignIn(null) });
    req.return_to = flow.return_to;
    const connection = await connectionOf(req.ctx, flow.connection_id);
    if (!connection || (connection.status !== 'enabled' && flow.purpose !== 'test')) throw ssoRefusal('not_found');
    // Whoever connects an account is still the one who began.
    if (isConnecting(flow) && req.session?.id !== flow.session_id) throw ssoRefusal('sso_state_mismatch');
    const about = { ctx: req.ctx, connection, purpose: flow.purpose };
    try {
      const assertion = await exchange(req, memory, flow, connection, connection.strategy === 'saml' ? postedAnswer(flow) : answer);
      countAtProvider(about, 'sso_succeeded');
      await finish[flow.purpose](web, req, res, assertion);
    } catch (error) {
      if (!(error instanceof PageError)) throw error;
      countFailureAtProvider(about, error);
      const { cause } = error;
      const detail = cause instanceof Error ? cause.message : null;
      req.ctx.logger.info(
        {
          event: 'sso.refused',
          request_id: req.request_id,
          environment_id: req.ctx.environment.id,
          connection_id: connection.id,
          outcome: error.code,
          detail,
        },
        'a sign-in at a provider was refused',
      );
      // Codes of this surface; of any other there is the sentence of its page.
      noteRefusal(req, flow, connection, error.code as SecurityEventReason);
      if (flow.purpose === 'login') noteLogin(req.ctx, 'sso', error.code);
      if (flow.purpose === 'test') return await finishTest.refused(web, req, res, connection, error, flow.setup);
      const refused = error.next ? error : withNext(error, wayBack(flow));
      throw refused.by('provider_answer_refused', {
        client_id: onWayTo(req) ?? undefined,
        description: cause instanceof ProviderFailure ? cause.message : undefined,
      });
    }
  };
}
