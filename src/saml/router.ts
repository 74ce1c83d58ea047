import { Router, type Request, type Response } from 'express';
import { browserSession } from '../http/auth/browser-session.js';
import { csrf } from '../http/auth/csrf.js';
import { traced } from '../http/auth/trace.js';
import { limitByAddress } from '../http/limits/rate-limits.js';
import { form, queryOf, samlForm } from '../http/request/form.js';
import { journeyPaths } from '../http/request/return-to.js';
import { route } from '../http/routes.js';
import type { Web } from '../http/web.js';
import { samlMetadataPath, singleSignOnPath } from '../domain/saml/identity-provider.js';
import { proceed, requirePendingRequest } from '../oauth/authorize/authorize.js';
import { chooseOrganization } from '../oauth/authorize/choose-organization.js';
import { consent } from '../oauth/authorize/consent.js';
import { samlIdentityProviderMetadata } from './metadata.js';
import { samlProtocol } from './protocol.js';
import { receive } from './receive.js';

/** Sign-in to SAML applications (specification 16.8): the way to a session and a yes is that of OAuth's authorization requests. */
export function samlRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  const { login } = web.deps.config.rateLimits;
  const starts = limitByAddress(web, {
    name: 'saml',
    limit: { ...login, limit: login.limit * 6 },
    key: (req, address) => `${req.ctx.environment.id} ${address}`,
  });
  const trace = traced('authorize');
  const { resume, consent: consentPath, organization } = journeyPaths.saml;
  const begin = async (req: Request, res: Response) => proceed(samlProtocol, web, req, res, await receive(req));
  const goOn = async (req: Request, res: Response) =>
    proceed(samlProtocol, web, req, res, requirePendingRequest(samlProtocol, req, queryOf(req).get('request')));

  route(router, samlMetadataPath, { get: [starts, samlIdentityProviderMetadata] });
  route(router, singleSignOnPath, { get: [trace, starts, browserSession, begin], post: [trace, starts, samlForm, browserSession, begin] });
  route(router, resume, { get: [trace, browserSession, goOn] });
  route(router, consentPath, { post: [traced('consent'), form, browserSession, csrf, consent(web, samlProtocol)] });
  route(router, organization, { post: [trace, form, browserSession, csrf, chooseOrganization(web, samlProtocol)] });
  return router;
}
