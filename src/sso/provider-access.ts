import type { Request, Response } from 'express';
import { findEnabledProviderGrant } from '../db/tables/provider_grants.js';
import { enabledClient, type Client } from '../domain/clients/clients.js';
import { clientDigest } from '../domain/clients/document-clients.js';
import { connectionOf, type Connection } from '../domain/connections/connections.js';
import { transaction } from '../domain/context.js';
import { giveConsent } from '../domain/grants/consents.js';
import { keepTokens } from '../domain/provider-tokens/tokens.js';
import { PageError } from '../errors.js';
import { sessionOf } from '../http/auth/browser-session.js';
import { formPage } from '../http/auth/csrf.js';
import { originOf } from '../http/pages/mail-origin.js';
import { shownNameOf, unverifiedNotice } from '../http/pages/shown-client.js';
import { wordsOf } from '../http/pages/words.js';
import { queryOf } from '../http/request/form.js';
import { withReturnTo } from '../http/request/return-to.js';
import type { Web } from '../http/web.js';
import { message } from '../lib/languages/messages.js';
import type { Parameters } from '../lib/parameters.js';
import { formatScope, isSubset, parseScope } from '../lib/scope-set.js';
import { connectAccount } from './connect.js';
import { strategyOfPage } from './page-models.js';
import type { ProviderAssertion } from './provider-assertion.js';
import { ProviderFailure } from './provider-failure.js';
import type { ProviderMemory } from './provider-memory.js';
import { ssoRefusal } from './refusal.js';
import { destination, leaveForProvider } from './start.js';

export const providerAccessPath = '/account/provider_access';
const names = ['client_id', 'connection', 'scope', 'return_to'] as const;

type RequestedAccess = {
  readonly client: Client;
  readonly connection: Connection;
  readonly scopes: readonly string[];
  /** Where the person goes back to; null: to the account page. */
  readonly redirect_uri: string | null;
};

/** What the page is asked for, by a client's link: all of it fits a grant, or none of it is shown. @throws {PageError} 400 */
async function requestedOf({ ctx }: Request, sent: Parameters): Promise<RequestedAccess> {
  const refused = () => new PageError(400, 'invalid_request', message('provider_access.invalid_link'));
  if (names.some((name) => sent.repeated.has(name))) throw refused();
  const [client_id, connection_id, scope, return_to] = names.map((name) => sent.get(name));
  const client = client_id === undefined ? null : await enabledClient(ctx, client_id);
  const connection = connection_id === undefined ? null : await connectionOf(ctx, connection_id);
  if (!client || connection?.status !== 'enabled' || !connection.token_storage) throw refused();
  // Exactly one of them (RFC 9700 2.1): nothing else is an address of the client's.
  if (return_to !== undefined && !client.redirect_uris.includes(return_to)) throw refused();
  const grant = await findEnabledProviderGrant(ctx.scope, client.id, connection.id);
  const scopes = parseScope(scope ?? '');
  if (!grant || scopes === null || !isSubset(scopes, grant.scopes)) throw refused();
  return { client, connection, scopes: scopes.length > 0 ? scopes : grant.scopes, redirect_uri: return_to ?? null };
}

/** The address to go back to, with the answer of a person who says no (RFC 6749 4.1.2.1). */
function refusedAt(redirect_uri: string | null): string {
  if (redirect_uri === null) return '/account';
  const url = new URL(redirect_uri);
  url.searchParams.set('error', 'access_denied');
  return url.href;
}

function render(web: Web, req: Request, res: Response, { client, connection, scopes, redirect_uri }: RequestedAccess): void {
  const words = wordsOf(req);
  const { display_name } = connection;
  const name = shownNameOf(words, client);
  web.renderPage(res, 'sso/provider-access', {
    ...formPage(req, res, words.t('provider_access.title', { client: name, provider: display_name })),
    action: providerAccessPath,
    hidden: {
      client_id: client.id,
      connection: connection.id,
      scope: formatScope(scopes),
      ...(redirect_uri !== null && { return_to: redirect_uri }),
    },
    client: { name },
    user: { email: sessionOf(req).user_email },
    unverified: unverifiedNotice(words, client, redirect_uri),
    connection: { display_name, strategy: strategyOfPage(connection) },
    scopes,
    cancel: refusedAt(redirect_uri),
  });
}

/** GET /account/provider_access: what a client would get of the provider, for whoever is signed in; nothing is changed. */
export const providerAccessPage = (web: Web) => async (req: Request, res: Response) => {
  res.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  if (!req.session) return res.redirect(303, withReturnTo('/login', {}, req.originalUrl));
  render(web, req, res, await requestedOf(req, queryOf(req)));
};

/** POST /account/provider_access: the person allows it, and is led to the provider, which asks them too. */
export const allowProviderAccess = (web: Web, memory: ProviderMemory) => async (req: Request, res: Response) => {
  if (!req.session) return res.redirect(303, '/login?return_to=%2Faccount');
  const requested = await requestedOf(req, req.form);
  const { client, connection, scopes, redirect_uri } = requested;
  const href = await destination(req, res, memory, connection, {
    purpose: 'access',
    return_to: null,
    session_id: req.session.id,
    demand: null,
    keeps: { client_id: client.id, scopes, asked: true, redirect_uri },
  });
  leaveForProvider(web, req, res, connection, href);
};

/**
 * Keeps what the provider gave, for the client that the person allowed it, with the account connected if it wasn't; and back to the client.
 * @throws {PageError} as connecting an account; `sso_provider_error` where the provider gave nothing that lasts
 */
export async function finishAccess(_web: Web, req: Request, res: Response, assertion: ProviderAssertion): Promise<void> {
  const { connection, profile, tokens, flow } = assertion;
  const { keeps } = flow;
  const client = keeps && (await enabledClient(req.ctx, keeps.client_id));
  if (!client) throw ssoRefusal('sso_state_mismatch');
  await connectAccount(req, assertion);
  const { user_id } = sessionOf(req);
  const isStored = await transaction(req.ctx, async (tx) => {
    const stored =
      tokens && (await keepTokens(tx, { connection, subject: profile.subject, user_id, client_id: client.id, tokens, asked: true }));
    if (!stored) return false;
    const question = { user_id, client_id: client.id, scopes: [], resource: null, client_digest: clientDigest(client) };
    if (!client.first_party) await giveConsent(tx, question, originOf(req));
    return true;
  });
  if (!isStored) {
    const cause = new ProviderFailure('the provider gave no access that lasts, or the client may not have it any more');
    throw ssoRefusal('sso_provider_error', { text: message('provider_access.not_given', { provider: connection.display_name }), cause });
  }
  const { redirect_uri } = keeps;
  res.redirect(303, redirect_uri !== null && client.redirect_uris.includes(redirect_uri) ? redirect_uri : '/account?done=provider_access');
}
