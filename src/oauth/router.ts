import { Router, type Request } from 'express';
import { confidentialOnly } from '../http/auth/authenticate-client.js';
import { browserSession } from '../http/auth/browser-session.js';
import { cors, corsForAll, corsOfClient, preflight } from '../http/auth/cors.js';
import { tellNonce } from '../http/auth/dpop.js';
import { csrf } from '../http/auth/csrf.js';
import type { RouteList } from '../http/exact-routes.js';
import { encodedForm, form, formOrJson } from '../http/request/form.js';
import { traced } from '../http/auth/trace.js';
import { route } from '../http/routes.js';
import { limitByAddress } from '../http/limits/rate-limits.js';
import { journeyPaths, devicePath } from '../http/request/return-to.js';
import { guardedClientAuthentication, limitedClientAuthentication } from '../http/auth/token-limit.js';
import type { Web } from '../http/web.js';
import { cibaGrantType, deviceCodeGrantType } from '../lib/grant-types.js';
import { authorize, resume } from './authorize/authorize.js';
import { consent } from './authorize/consent.js';
import { pushRequest } from './authorize/push.js';
import { oauthProtocol } from './authorize/oauth-protocol.js';
import { askElsewhere } from './approvals/request.js';
import { answerDevice } from './device/answer.js';
import { devicePage, enterUserCode, signedInForDevice } from './device/page.js';
import { deviceAnswerPath } from './device/paths.js';
import { startDevice } from './device/start.js';
import { discovery } from './discovery.js';
import { allMetadataPaths, oauthEndpoints, jwksPath, registrationPath, revocationsPath } from './endpoints.js';
import { introspect } from './introspect.js';
import { jwks } from './jwks.js';
import { apiResourceMetadata, managementResourceMetadata } from './resource-metadata.js';
import { managementMetadataPath, resourceMetadataPath } from '../domain/api-resources/metadata.js';
import { documentClientPreflight } from './metadata-documents/document-client-preflight.js';
import { findAssertedClient } from './metadata-documents/asserted-client.js';
import { identifyClient } from './metadata-documents/identify-client.js';
import { chooseOrganization } from './authorize/choose-organization.js';
import { confirmLogout, csrfWhileSignedIn, endSession, logoutConfirmPath } from './logout/logout.js';
import { deleteRegistration, readRegistration, createRegistration, registrationEnabled, replaceRegistration } from './register/register.js';
import { revocations } from './revocations.js';
import { revoke } from './revoke.js';
import { token } from './token.js';
import { userinfo } from './userinfo.js';

/** The OAuth 2.0 and OpenID Connect endpoints, but for clients' own registrations. */
export function addOauthRoutes(routes: RouteList, web: Web): void {
  const limited = limitedClientAuthentication(web);
  const tokenLimited = limitedClientAuthentication(web, { isPoll, byGrant: true, find: findAssertedClient(web) });
  // Before the first consent a client that is known by its document alone is stored nowhere.
  const identified = limitedClientAuthentication(web, { find: (req, client_id) => identifyClient(web, req, client_id) });
  routes.add(oauthEndpoints.token_endpoint, {
    post: [traced('token'), cors, tellNonce, encodedForm, tokenLimited, token(web)],
    options: [cors, preflight],
  });
  routes.add(oauthEndpoints.pushed_authorization_request_endpoint, {
    post: [traced('pushed_authorization_request'), cors, tellNonce, encodedForm, identified, corsOfClient, pushRequest(web)],
    options: [cors, documentClientPreflight, preflight],
  });
  routes.add(oauthEndpoints.device_authorization_endpoint, {
    post: [traced('device_authorization'), cors, encodedForm, limited, startDevice],
    options: [cors, preflight],
  });
  routes.add(oauthEndpoints.backchannel_authentication_endpoint, {
    post: [traced('backchannel_authentication'), encodedForm, limited, confidentialOnly, askElsewhere],
  });
  const guarded = guardedClientAuthentication(web);
  routes.add(oauthEndpoints.introspection_endpoint, { post: [encodedForm, guarded, confidentialOnly, introspect] });
  const feed = [encodedForm, guarded, confidentialOnly, revocations(web)];
  routes.add(revocationsPath, { get: feed, post: feed });
  routes.add(oauthEndpoints.revocation_endpoint, { post: [cors, encodedForm, guarded, revoke], options: [cors, preflight] });
  const claims = userinfo(web);
  routes.add(oauthEndpoints.userinfo_endpoint, {
    get: [cors, tellNonce, claims],
    post: [cors, tellNonce, form, claims],
    options: [cors, preflight],
  });
  const trace = traced('authorize');
  routes.add(oauthEndpoints.authorization_endpoint, {
    get: [trace, browserSession, authorize(web)],
    post: [trace, form, browserSession, authorize(web)],
  });
  routes.add(journeyPaths.oauth.resume, { get: [trace, browserSession, resume(web)] });
  routes.add(journeyPaths.oauth.consent, { post: [traced('consent'), form, browserSession, csrf, consent(web, oauthProtocol)] });
  routes.add(journeyPaths.oauth.organization, { post: [trace, form, browserSession, csrf, chooseOrganization(web, oauthProtocol)] });
  routes.add(oauthEndpoints.end_session_endpoint, {
    get: [browserSession, endSession(web)],
    post: [form, browserSession, endSession(web)],
  });
  routes.add(logoutConfirmPath, { post: [form, browserSession, csrfWhileSignedIn, confirmLogout(web)] });
  routes.add(devicePath, {
    get: [browserSession, devicePage(web)],
    post: [form, browserSession, signedInForDevice, csrf, enterUserCode(web)],
  });
  routes.add(deviceAnswerPath, { post: [form, browserSession, signedInForDevice, csrf, answerDevice(web)] });
  routes.add(managementMetadataPath, { ...publicDocument, get: [corsForAll, managementResourceMetadata] });
  routes.add(registrationPath, {
    options: [corsForAll, preflight],
    post: [corsForAll, registrationEnabled, limitRegistration(web), formOrJson, createRegistration],
  });
}

/** Whether a client asks whether the person has answered (RFC 8628 3.4, CIBA Core 1.0 10.1). */
const isPoll = ({ form }: Request) => [deviceCodeGrantType, cibaGrantType].includes(form.get('grant_type') ?? '');

/** In the window of `RATE_LIMIT_REGISTER`, from one address: a registration leaves a row behind. */
const registrationsAtOnce = 5;

const limitRegistration = (web: Web) =>
  limitByAddress(web, {
    name: 'client_registration',
    limit: { ...web.deps.config.rateLimits.register, limit: Math.min(web.deps.config.rateLimits.register.limit, registrationsAtOnce) },
    key: (req, address) => `${req.ctx.environment.id} ${address}`,
  });

/** A document that everybody reads, pages of any origin too. */
const publicDocument = { head: true, options: [corsForAll, preflight] };

/** The metadata of API resources that aren't this service's own (RFC 9728). */
export function resourceMetadataRouter(): Router {
  const router = Router({ caseSensitive: true });
  route(router, resourceMetadataPath(':api_resource_id'), { ...publicDocument, get: [corsForAll, apiResourceMetadata] });
  return router;
}

/** What a registered client reads and changes of itself (RFC 7592). */
export function registrationRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  route(router, `${registrationPath}/:client_id`, {
    get: [registrationEnabled, readRegistration],
    put: [registrationEnabled, limitRegistration(web), formOrJson, replaceRegistration],
    delete: [registrationEnabled, deleteRegistration],
  });
  return router;
}

/** The documents that everybody reads and caches. */
export function addMetadataRoutes(routes: RouteList): void {
  for (const path of allMetadataPaths) routes.add(path, { ...publicDocument, get: [discovery] });
  routes.add(jwksPath, { ...publicDocument, get: [jwks] });
}
