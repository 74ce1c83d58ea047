import type { Request, Response } from 'express';
import { offeredConnections } from '../domain/connections/client-connections.js';
import { connectionOf, enabledConnections, openTestTicket, type Connection } from '../domain/connections/connections.js';
import { PageError } from '../errors.js';
import { queryOf } from '../http/request/form.js';
import { basePage } from '../http/pages/pages.js';
import { pendingClientId, pendingOf, safeReturnTo } from '../http/request/return-to.js';
import type { Web } from '../http/web.js';
import { codeChallengeOf } from '../lib/pkce.js';
import { finishTest } from './connection-test.js';
import { freshnessParameters, requiredFreshness, requireAuthTimeSupport } from './freshness.js';
import { findEnabledProviderGrant } from '../db/tables/provider_grants.js';
import { beginFlow, type Flow, type KeptFor } from './flow.js';
import { strategyOfPage } from './page-models.js';
import { openProvider, refuseMixUp } from './provider.js';
import { countFailureAtProvider } from './provider-count.js';
import { inTime, providerRefusal } from './provider-failure.js';
import type { ProviderMemory } from './provider-memory.js';
import { backToSignIn, ssoRefusal, withNext } from './refusal.js';
import { wordsOf } from '../http/pages/words.js';

/** The parameters of the application's request that are passed on to the provider: `login_hint`, `prompt`, `max_age`. */
function wishesOf(req: Request, return_to: string | null): Record<string, string> {
  const parameters = pendingOf(req, return_to)?.parameters ?? {};
  const prompt = (parameters['prompt'] ?? '').split(' ').filter((word) => word === 'login' || word === 'select_account');
  const login_hint = queryOf(req).get('login_hint') ?? parameters['login_hint'];
  const { max_age, ui_locales } = parameters;
  return {
    ...(login_hint !== undefined && { login_hint: login_hint.slice(0, 255) }),
    ...(prompt.length > 0 && { prompt: prompt.join(' ') }),
    ...(max_age !== undefined && { max_age }),
    ...(ui_locales !== undefined && { ui_locales }),
  };
}

/** Begins a flow and returns where the browser goes. @throws {PageError} 502 when the provider can't be asked where that is */
export async function destination(
  req: Request,
  res: Response,
  memory: ProviderMemory,
  connection: Connection,
  begin: Pick<Flow, 'purpose' | 'return_to' | 'session_id' | 'demand' | 'keeps'>,
): Promise<string> {
  requireAuthTimeSupport(connection, begin.demand);
  const others = (await enabledConnections(req.ctx)).filter(({ id }) => id !== connection.id);
  const about = { ctx: req.ctx, connection, purpose: begin.purpose };
  const opened = await callProvider(about, async () => {
    const provider = openProvider(req.ctx, connection, memory);
    if (!provider) throw ssoRefusal('not_found');
    const server = await inTime(req.ctx, () => provider.strategy.server(provider.provider));
    refuseMixUp(connection, server, others);
    return { ...provider, token_endpoint: server.token_endpoint };
  });
  const flow = await beginFlow(req, res, { connection_id: connection.id, token_endpoint: opened.token_endpoint, ...begin });
  const request = {
    state: flow.state,
    nonce: flow.nonce,
    code_challenge: codeChallengeOf(flow.verifier),
    wishes: freshnessParameters(begin.demand, wishesOf(req, begin.return_to)),
    keeps: begin.keeps ?? null,
  };
  return callProvider(about, async () => (await opened.strategy.authorizationUrl(opened.provider, request)).href);
}

/** For which client a sign-in keeps the provider's tokens: the one that it is for, where a grant lets it have them. No statement but where the connection keeps any. */
async function keptAtSignIn({ ctx }: Request, connection: Connection, client_id: string | null): Promise<KeptFor | null> {
  if (!connection.token_storage || client_id === null) return null;
  const grant = await findEnabledProviderGrant(ctx.scope, client_id, connection.id);
  return grant && { client_id, scopes: [], asked: false, redirect_uri: null };
}

/** Runs a call of the provider and turns its failures into refusals; failures of our database pass unchanged. @throws {PageError} */
async function callProvider<T>(about: Parameters<typeof countFailureAtProvider>[0], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const refusal = providerRefusal(error);
    countFailureAtProvider(about, refusal);
    throw refusal;
  }
}

/**
 * A page that goes on by itself. Browsers that come from a form may not be redirected to another site (`form-action`, also for what that
 * site redirects to); a page that leads on ends the form's journey.
 */
export function leaveForProvider(web: Web, req: Request, res: Response, connection: Connection, href: string): void {
  res.set('Refresh', `0; url=${href}`);
  web.renderPage(res, 'sso/leaving', {
    ...basePage(req.ctx.environment, {
      title: wordsOf(req).t('leaving.continue', { provider: connection.display_name }),
      request_id: req.request_id,
    }),
    connection: { display_name: connection.display_name, strategy: strategyOfPage(connection) },
    href,
  });
}

/** Whether a browser navigates, by Fetch Metadata: browsers keep cookies per host and apply `form-action` to redirects. */
const isBrowser = (req: Request) => req.headers['sec-fetch-dest'] === 'document';

/** A browser that reached us under another of our names goes to the one that providers send it back to; once, so never in circles. */
function properHost(req: Request): string | null {
  const own = new URL(req.ctx.environment.issuer);
  if (
    !isBrowser(req) ||
    req.headers.host === undefined ||
    req.headers.host.toLowerCase() === own.host ||
    queryOf(req).get('moved') !== undefined
  )
    return null;
  const url = new URL(req.originalUrl, own);
  url.searchParams.set('moved', '1');
  return url.origin === own.origin ? url.href : null;
}

/**
 * GET /auth/sso/{connection_id}: off to the provider. Unknown, disabled and foreign connections are one 404 (specification 8.2.1), and so are those
 * that the client doesn't offer for which somebody signs in.
 */
export const start = (web: Web, memory: ProviderMemory) => async (req: Request<{ connection_id: string }>, res: Response) => {
  const query = queryOf(req);
  const connection = await connectionOf(req.ctx, req.params.connection_id);
  const ticket = query.get('test');
  const test = connection !== null && ticket !== undefined ? openTestTicket(req.ctx, ticket, connection.id) : null;
  const isTest = test !== null;
  if (!connection || (connection.status !== 'enabled' && !isTest)) throw ssoRefusal('not_found');
  res.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  const elsewhere = properHost(req);
  if (elsewhere !== null) return res.redirect(303, elsewhere);
  const return_to = safeReturnTo(query.get('return_to'));
  const offered = isTest ? [connection] : await offeredConnections(req.ctx, pendingClientId(req, return_to));
  // Those of organizations are offered on their own pages, and found by an address.
  if (connection.organization_id === null && !offered.some(({ id }) => id === connection.id)) throw ssoRefusal('not_found');
  const purpose = isTest ? 'test' : 'login';
  const freshness = isTest ? null : await requiredFreshness(req, return_to, query.get('prompt') === 'login');
  const tested = test && { tells_people: test.tells_people, ...(test.setup && { setup: test.setup }) };
  const keeps = isTest ? null : await keptAtSignIn(req, connection, pendingClientId(req, return_to));
  const begin = { purpose, return_to, session_id: null, demand: freshness, ...(keeps && { keeps }), ...tested } as const;
  const href = await destination(req, res, memory, connection, begin).catch(async (error: unknown) => {
    if (!(error instanceof PageError)) throw error;
    if (!test) throw withNext(error, backToSignIn(return_to));
    await finishTest.refused(web, req, res, connection, error, test.setup);
  });
  if (href === undefined) return;
  // The sign-in form sends addresses of a connection's domain here.
  if (query.get('from') === 'form' && isBrowser(req)) return leaveForProvider(web, req, res, connection, href);
  res.redirect(303, href);
};

/** POST /auth/sso/{connection_id}/connect: a signed-in user ties an account at the provider to this one. Needs `csrf` before: a link alone must not. */
export const connect = (web: Web, memory: ProviderMemory) => async (req: Request<{ connection_id: string }>, res: Response) => {
  if (!req.session) return res.redirect(303, '/login?return_to=%2Faccount');
  const connection = await connectionOf(req.ctx, req.params.connection_id);
  if (connection?.status !== 'enabled') throw ssoRefusal('not_found');
  const href = await destination(req, res, memory, connection, {
    purpose: 'connect',
    return_to: '/account?done=connected',
    session_id: req.session.id,
    demand: null,
  });
  leaveForProvider(web, req, res, connection, href);
};
