import { Router, type RequestHandler } from 'express';
import { browserSession } from '../http/auth/browser-session.js';
import { traced } from '../http/auth/trace.js';
import { csrf } from '../http/auth/csrf.js';
import { form, samlForm } from '../http/request/form.js';
import { confirmed } from '../http/confirmation/ask-to-confirm.js';
import { route } from '../http/routes.js';
import { limitBy, limitByAddress } from '../http/limits/rate-limits.js';
import type { Web } from '../http/web.js';
import { consumeAssertion, samlMetadata } from './saml/assertion-consumer.js';
import { callback, redirectFormPost } from './callback.js';
import { linkAccount, linkIdentifier } from './link-account.js';
import { allowProviderAccess, providerAccessPage, providerAccessPath } from './provider-access.js';
import { createProviderMemory } from './provider-memory.js';
import { signalBody, takeSignal } from './signals.js';
import { connect, start } from './start.js';

/** Login through providers (specification 8.2). */
export function ssoRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  const memory = createProviderMemory();
  const { login } = web.deps.config.rateLimits;
  const key = (req: Parameters<RequestHandler>[0], address: string) => `${req.ctx.environment.id} ${address}`;
  // A start writes a row and may fetch provider metadata; a link form takes a password, and counts like a login.
  const starts = limitByAddress(web, { name: 'sso', limit: { ...login, limit: login.limit * 6 }, key });
  const guesses = [
    limitByAddress(web, { name: 'login', limit: login, key }),
    limitBy(web, {
      name: 'sso_link',
      limit: login,
      key: (req) => linkIdentifier(req) && `${req.ctx.environment.id} ${linkIdentifier(req)}`,
    }),
  ];

  route(router, '/auth/sso/callback', { get: [traced('provider'), browserSession, callback(web, memory)], post: [form, redirectFormPost] });
  route(router, '/auth/sso/link', { post: [form, ...guesses, browserSession, csrf, linkAccount(web)] });
  route(router, '/auth/sso/:connection_id/callback', {
    post: [traced('provider'), starts, samlForm, consumeAssertion as unknown as RequestHandler],
  });
  // From one address a provider tells of everybody who leaves.
  const signals = limitByAddress(web, { name: 'signals', limit: { ...login, limit: login.limit * 60 }, key });
  route(router, '/auth/sso/:connection_id/signals', { post: [signals, signalBody, takeSignal as unknown as RequestHandler] });
  route(router, '/auth/sso/:connection_id/metadata', { get: [starts, samlMetadata as unknown as RequestHandler] });
  route(router, '/auth/sso/:connection_id/connect', {
    post: [
      form,
      starts,
      browserSession,
      csrf,
      ...confirmed(web, { code: 'fresh_sign_in_required' }),
      connect(web, memory) as unknown as RequestHandler,
    ],
  });
  route(router, providerAccessPath, {
    get: [starts, browserSession, providerAccessPage(web)],
    head: true,
    post: [form, starts, browserSession, csrf, ...confirmed(web, { code: 'fresh_sign_in_required' }), allowProviderAccess(web, memory)],
  });
  route(router, '/auth/sso/:connection_id', { get: [starts, start(web, memory) as unknown as RequestHandler] });
  return router;
}
