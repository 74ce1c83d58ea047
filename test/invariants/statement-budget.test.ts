// How many statements each hot endpoint sends to the database: the part of its speed that no machine's noise touches.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharedManagedService } from '../support/shared-service.js';
import { proofNow } from '../../src/domain/proofs/proofs.js';
import { approveDevice } from '../../src/domain/device-codes/answer.js';
import { noOrigin } from '../../src/domain/origin.js';
import { findBrowserSession, startSession } from '../../src/domain/sessions/sessions.js';
import { clientDigest } from '../../src/domain/clients/document-clients.js';
import { addConsent } from '../../src/db/tables/consents.js';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import type { OrganizationRow } from '../../src/db/tables/organizations.js';
import { insertFederatedCredential } from '../../src/db/tables/federated_credentials.js';
import { insertProviderGrant } from '../../src/db/tables/provider_grants.js';
import { insertTrustedIssuer } from '../../src/db/tables/trusted_issuers.js';
import { digest } from '../../src/lib/digest.js';
import { jwtBearerGrantType, tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { idJagTokenType, idJagTyp } from '../../src/lib/identity-assertions.js';
import { uuidv7 } from '../../src/lib/random.js';
import { approvalPathIn, asking, askFor, askOf, decide, freshlySignedIn, pollApproval } from '../support/approvals.js';
import { Browser, csrfOf, locationParameters, pkcePair } from '../support/browser.js';
import { addType, paymentFields, paymentSentence } from '../support/authorization-details.js';
import { addClient, addGrant, addResource, addUser, password, type TestClient } from '../support/data.js';
import { addSignalStream } from '../support/signals.js';
import { deviceCode, pollDevice, startDevice } from '../support/device.js';
import { createProofKey, type ProofKey } from '../support/dpop.js';
import { giveTotp } from '../support/factors.js';
import { basic, claimsOf, oauthPost, tokenRequest, type TokenAnswer } from '../support/oauth.js';
import { observeApp, type ObservedApp } from '../support/observed-app.js';
import { addMembership, addOrganization } from '../support/organizations.js';
import { addSamlClient, deflated, requestXml } from '../support/saml-application.js';
import { addExternalServer, addIdentity, addOutboundGrant, idTokenType, refreshTokenType } from '../support/assertions.js';
import { addConnection } from '../support/connections.js';
import { startWorkloadIssuer, type WorkloadIssuer } from '../support/workload-issuer.js';
import { createClientKey, type ClientKey } from '../support/signed-jwt.js';
import { managementClient, managementToken } from '../support/management.js';

let app: ObservedApp;
let origin: string;
let client: TestClient;
/** Asks people who are elsewhere. */
let agent: TestClient;
let jwtApi: ApiResourceRow;
let opaqueApi: ApiResourceRow;
let grantedApi: ApiResourceRow;
let mappingApi: ApiResourceRow;
/** Known by its document, and allowed by the person before. */
let documented: TestClient;
/** Signs people in for an organization, of which the person is a member. */
let tenants: TestClient;
let organization: OrganizationRow;
let wiki: TestClient;
let workloadKey: ClientKey;
let issuer: WorkloadIssuer;
/** Of others than the operator: people are asked. */
let others: TestClient;
let cookie: string;
let proofKey: ProofKey;
/** Has signed in before. */
let visitor: Browser;
let visitorEmail: string;
let twoStepEmail: string;
/** Of the built-in management client, which holds every permission. */
let management: string;

const service = sharedManagedService();
beforeAll(async () => {
  const ctx = await service.context();
  client = await addClient(ctx, {
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials', deviceCode, tokenExchangeGrantType, jwtBearerGrantType],
  });
  agent = await addClient(ctx, { ...asking, backchannel_users: 'any', first_party: false });
  // What is signalled rides on the statements that do it (specification 20.5.1).
  await addSignalStream(ctx, (await addClient(ctx, { signal_audience: 'everybody' })).id);
  jwtApi = await addResource(ctx, { identifier: 'https://jwt.example', token_format: 'jwt' });
  opaqueApi = await addResource(ctx, { identifier: 'https://opaque.example', token_format: 'opaque' });
  for (const resource of [jwtApi, opaqueApi]) await addGrant(ctx, client, resource);
  grantedApi = await addResource(ctx, { identifier: 'https://granted.example', user_access: 'granted' });
  await addGrant(ctx, client, grantedApi, ['read'], 'user');
  for (const token_exchange of ['delegation', 'impersonation'] as const)
    for (const token_format of ['jwt', 'opaque'] as const) {
      const target = await addResource(ctx, { identifier: `https://${token_exchange}.example/${token_format}`, token_format });
      await addGrant(ctx, client, target, ['read'], 'user', { token_exchange });
    }
  workloadKey = await createClientKey('ES256');
  const stamps = { id: '01890000-0000-7000-8000-00000000000a', created_at: ctx.clock.now(), updated_at: ctx.clock.now() };
  const jwks = { keys: [workloadKey.jwk] };
  const trusted = await insertTrustedIssuer(ctx.scope, { ...stamps, name: 'Platform', issuer: 'https://platform.example', jwks });
  const machine = await addClient(ctx, {
    grant_types: [jwtBearerGrantType],
    token_endpoint_auth_method: 'private_key_jwt',
    secret_digest: null,
  });
  for (const resource of [jwtApi, opaqueApi]) await addGrant(ctx, machine, resource);
  const proven = { client_id: machine.id, trusted_issuer_id: trusted.id, audience: 'us', claims: { sub: 'job' } };
  await insertFederatedCredential(ctx.scope, { ...stamps, ...proven });
  const claim_mappings = [{ claim: 'mail', source: 'email', in: ['access_token' as const] }];
  mappingApi = await addResource(ctx, { identifier: 'https://mapping.example', token_format: 'opaque', claim_mappings });
  proofKey = await createProofKey();
  issuer = await startWorkloadIssuer(() => service.clock.now());
  const connection = await addConnection(ctx, { issuer: issuer.url, assertions: 'on' });
  const user = await addUser(ctx);
  await addIdentity(ctx, connection, user, 'remote');
  for (const token_format of ['jwt', 'opaque'] as const) {
    const api = await addResource(ctx, {
      identifier: `https://asserted.example/${token_format}`,
      token_format,
      assertion_access: 'granted',
    });
    await addGrant(ctx, client, api, ['read'], 'user', { assertions: true });
  }
  const outside = { issuer: 'https://outside.example', resources: [{ identifier: 'https://mcp.example/', scopes: ['read'] }] };
  const external_server_id = (await addExternalServer(ctx, outside)).id;
  await addOutboundGrant(ctx, { client_id: client.id, external_server_id, external_client_id: 'there' });
  cookie = `idp_session=${(await startSession(ctx, { user_id: user.id, proofs: [proofNow('password', ctx.clock.now())], ip_address: null, user_agent: null })).token}`;

  tenants = await addClient(ctx, { organization_usage: 'require' });
  organization = await addOrganization(ctx);
  await addMembership(ctx, organization, user);

  wiki = await addSamlClient(ctx, { saml_attributes: { mail: 'email' } });
  const read_at = ctx.clock.now();
  documented = await addClient(ctx, {
    id: 'https://client.example/client.json',
    origin: 'metadata_document',
    verified: false,
    first_party: false,
    token_endpoint_auth_method: 'none',
    secret_digest: null,
    document_digest: digest('the document'),
    document_read_at: read_at,
    document_fresh_until: new Date(read_at.getTime() + 86_400_000),
  });
  await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ client_id_metadata_documents: 'open' });
  ctx.cache.invalidate(ctx.environment.id, 'environments');
  const allowed = { user_id: user.id, client_id: documented.id, resource: '', scopes: ['openid', 'profile', 'email'] };
  await addConsent(ctx.scope, { ...allowed, id: uuidv7(read_at.getTime()), client_digest: clientDigest(documented), at: read_at });

  app = await observeApp(service.deps);
  origin = app.origin;
  management = await managementToken(service.url);
  others = await addClient(ctx, { first_party: false });
  visitor = new Browser(origin);
  visitorEmail = (await addUser(ctx)).email;
  expect((await visitor.login(visitorEmail, password)).status).toBe(303);
  const twoStep = await addUser(ctx);
  twoStepEmail = twoStep.email;
  await giveTotp(ctx, twoStep.id);
});
afterAll(async () => {
  await app?.close();
  await issuer?.close();
});

const machineToken = (resource: ApiResourceRow) =>
  tokenRequest(origin, client, { grant_type: 'client_credentials', resource: resource.identifier });

async function code(more: Record<string, string> = {}, of = client): Promise<{ grant: Record<string, string> }> {
  const { verifier, challenge } = pkcePair();
  const redirect_uri = of.redirect_uris[0] as string;
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: of.id,
    redirect_uri,
    scope: 'openid profile email',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  });
  const response = await fetch(`${origin}/oauth/authorize?${query.toString()}`, { redirect: 'manual', headers: { cookie } });
  const value = locationParameters(response).get('code') as string;
  return { grant: { grant_type: 'authorization_code', code: value, redirect_uri, code_verifier: verifier } };
}

/** Pushes a request (RFC 9126). */
const pushRequest = (fields: Record<string, string> = {}) =>
  oauthPost(origin, '/oauth/par', client, {
    response_type: 'code',
    redirect_uri: client.redirect_uris[0] as string,
    scope: 'openid',
    ...fields,
  });

async function pushedTokens() {
  const { verifier, challenge } = pkcePair();
  const { request_uri } = (await pushRequest({ code_challenge: challenge, code_challenge_method: 'S256' })).body as {
    request_uri?: string;
  };
  const query = new URLSearchParams({ client_id: client.id, request_uri: request_uri as string });
  const response = await fetch(`${origin}/oauth/authorize?${query.toString()}`, { redirect: 'manual', headers: { cookie } });
  return tokenRequest(origin, client, {
    grant_type: 'authorization_code',
    code: locationParameters(response).get('code') as string,
    redirect_uri: client.redirect_uris[0] as string,
    code_verifier: verifier,
  });
}

/** Brings a token of a trusted issuer (RFC 7523). */
const workloadToken = async (resource: ApiResourceRow) => {
  const exp = Math.floor(service.clock.now().getTime() / 1000) + 60;
  const assertion = await workloadKey.sign({ iss: 'https://platform.example', aud: 'us', sub: 'job', exp });
  return tokenRequest(origin, null, { grant_type: jwtBearerGrantType, assertion, resource: resource.identifier });
};

/** Asks for an identity assertion (ID-JAG) for a server outside. */
const assertionFor = (subject_token: string, subject_token_type: string, more: Record<string, string> = {}) =>
  tokenRequest(origin, client, { grant_type: tokenExchangeGrantType, requested_token_type: idJagTokenType, audience: 'https://outside.example', subject_token, subject_token_type, ...more }); // prettier-ignore

/** An assertion of a connection's provider. */
const providersAssertion = (format: string, more: Record<string, unknown> = {}) => {
  const claims = {
    sub: 'remote',
    aud: service.url,
    client_id: client.id,
    jti: uuidv7(0),
    resource: `https://asserted.example/${format}`,
    scope: 'read',
    ...more,
  };
  return issuer.sign(claims, { ...issuer.key, sign: (said) => issuer.key.sign(said, { typ: idJagTyp }) });
};

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** Exchanges a person's token (RFC 8693). */
const exchange = async (subject_token: string, resource: string, more: Record<string, string> = {}) =>
  (
    await tokenRequest(origin, client, {
      grant_type: tokenExchangeGrantType,
      subject_token,
      subject_token_type: accessTokenType,
      resource,
      ...more,
    })
  ).status;

const userTokens = async (more: Record<string, string> = {}) => tokenRequest(origin, client, (await code(more)).grant);
/** For a resource that takes people's tokens only from clients with a grant. */
const grantedTokens = () => userTokens({ resource: grantedApi.identifier, scope: 'openid read' });

/** The request of a SAML application, of somebody who is signed in. */
const samlSignIn = () =>
  fetch(`${origin}/saml/sso?${new URLSearchParams({ SAMLRequest: deflated(requestXml(wiki)) }).toString()}`, { headers: { cookie } });

/** For the organization; a JWT with a resource. */
const tenantTokens = async (more: Record<string, string> = {}) =>
  tokenRequest(origin, tenants, (await code({ organization: organization.name, ...more }, tenants)).grant);

async function approvedDeviceCode(): Promise<string> {
  const { device_code } = await startDevice(origin, client);
  const ctx = await service.context();
  const question = { digest: digest(device_code), client, resource: null, organization: null, scopes: ['openid'] };
  const session = await findBrowserSession(ctx, cookie.slice('idp_session='.length));
  if (!session || !(await approveDevice(ctx, question, { session, origin: noOrigin }))) throw new Error('not approved');
  return device_code;
}

/** A question that its person said yes to. */
async function approvedApproval(): Promise<string> {
  const person = await addUser(await service.context());
  const auth_req_id = await askOf(origin, agent, { login_hint: person.email });
  service.clock.advance(1000);
  const browser = await freshlySignedIn(service, person);
  expect((await decide(browser, await approvalPathIn(service.url, person), 'allow')).status).toBe(200);
  return auth_req_id;
}

/** The same with a DPoP proof (RFC 9449). The service goes by its configured address, not by that of this server. */
const proven = async (path: string, fields: Record<string, string>) =>
  oauthPost(origin, path, client, fields, { dpop: await proofKey.proof({ htu: service.url + path }) });
const boundUserTokens = async () => proven('/oauth/token', (await code()).grant);
const provenGet = async (path: string, token: string) => {
  const dpop = await proofKey.proof({ htu: service.url + path, htm: 'GET', token });
  return fetch(origin + path, { headers: { authorization: `DPoP ${token}`, dpop } });
};
const machineFields = (resource: ApiResourceRow) => ({ grant_type: 'client_credentials', resource: resource.identifier });
async function boundManagementToken(): Promise<string> {
  const dpop = await proofKey.proof({ htu: `${service.url}/oauth/token` });
  const fields = { grant_type: 'client_credentials', resource: `${service.url}/api` };
  return (await oauthPost(service.url, '/oauth/token', managementClient, fields, { dpop })).body.access_token;
}

const twoStepLogin = () => new Browser(origin).postJson('/login', { email: twoStepEmail, password });

/** Somebody who has signed out comes back with the same browser. */
async function signInAgain(): Promise<number> {
  visitor.cookies.delete('idp_session');
  return (await visitor.login(visitorEmail, password)).status;
}

/** A browser that has the consent page before it, and the fields of its form. */
let asked: Browser;
async function consentForm(): Promise<string> {
  asked = new Browser(origin);
  asked.cookies.set('idp_session', cookie.slice('idp_session='.length));
  const request = { response_type: 'code', client_id: others.id, redirect_uri: others.redirect_uris[0] as string, scope: 'openid' };
  const page = `/oauth/authorize?${new URLSearchParams({ ...request, prompt: 'consent', code_challenge: pkcePair().challenge, code_challenge_method: 'S256' })}`;
  const html = await (await asked.get(page)).text();
  return JSON.stringify({ _csrf: csrfOf(html), request: /name="request" value="([^"]+)"/.exec(html)?.[1], decision: 'allow' });
}

let webhooksMade = 0;
let rolesMade = 0;
const manage = (method: string, path: string, data?: unknown) =>
  fetch(`${origin}/api/${path}`, {
    method,
    headers: { authorization: `Bearer ${management}`, ...(data === undefined ? {} : { 'content-type': 'application/vnd.api+json' }) },
    ...(data === undefined ? {} : { body: JSON.stringify({ data }) }),
  });
const webhooks = (method: string, path = '', data?: unknown) => manage(method, `webhooks${path}`, data);
const newRole = async () => {
  const answer = await manage('POST', 'roles', { type: 'role', attributes: { name: `Role ${++rolesMade}` } });
  return ((await answer.json()) as { data: { id: string } }).data.id;
};
const postWebhook = () =>
  webhooks('POST', '', {
    type: 'webhook',
    attributes: { name: `Receiver ${++webhooksMade}`, url: 'https://receiver.example/', events: ['role.created'] },
  });
const newWebhook = async () => ((await (await postWebhook()).json()) as { data: { id: string } }).data.id;

type Operation = { limit: number; status?: number; prepare?: () => Promise<string>; run: (prepared: string) => Promise<number> };

/** Each operation, and how many statements it may cost once the process remembers what rarely changes. */
const budget: Record<string, Operation> = {
  'client credentials, JWT': { limit: 0, run: async () => (await machineToken(jwtApi)).status },
  'client credentials, opaque': { limit: 1, run: async () => (await machineToken(opaqueApi)).status },
  'introspection, opaque': {
    limit: 1,
    prepare: async () => (await machineToken(opaqueApi)).body.access_token,
    run: async (token) => (await oauthPost(origin, '/oauth/introspect', client, { token })).status,
  },
  'introspection, JWT': {
    limit: 1,
    prepare: async () => (await machineToken(jwtApi)).body.access_token,
    run: async (token) => (await oauthPost(origin, '/oauth/introspect', client, { token })).status,
  },
  'a page of the revocation feed': {
    limit: 1,
    run: async () => (await fetch(`${origin}/oauth/revocations`, { headers: { authorization: basic(client) } })).status,
  },
  userinfo: {
    limit: 1,
    prepare: async () => (await userTokens()).body.access_token,
    run: async (token) => (await fetch(`${origin}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status,
  },
  'authorization code flow for a resource that takes a grant': { limit: 3, run: async () => (await grantedTokens()).status },
  "introspection of a person's token for a resource that takes a grant": {
    limit: 1,
    prepare: async () => (await grantedTokens()).body.access_token,
    run: async (token) => (await oauthPost(origin, '/oauth/introspect', client, { token })).status,
  },
  "introspection of a person's token for a resource whose mappings draw on people": {
    limit: 2,
    prepare: async () => (await userTokens({ resource: mappingApi.identifier, scope: 'openid read' })).body.access_token,
    run: async (token) => (await oauthPost(origin, '/oauth/introspect', client, { token })).status,
  },
  'refresh for a resource that takes a grant': {
    limit: 2,
    prepare: async () => (await grantedTokens()).body.refresh_token as string,
    run: async (refresh_token) => (await tokenRequest(origin, client, { grant_type: 'refresh_token', refresh_token })).status,
  },
  // What a sign-in for an organization costs more: the membership, and the note of the last one.
  'authorization code flow for an organization': { limit: 5, run: async () => (await tenantTokens()).status },
  'authorization code flow for an organization that the request does not name': {
    limit: 6,
    run: async () => (await tokenRequest(origin, tenants, (await code({}, tenants)).grant)).status,
  },
  'refresh for an organization': {
    limit: 2,
    prepare: async () => (await tenantTokens()).body.refresh_token as string,
    run: async (refresh_token) => (await tokenRequest(origin, tenants, { grant_type: 'refresh_token', refresh_token })).status,
  },
  'introspection for an organization, opaque': {
    limit: 1,
    prepare: async () => (await tenantTokens()).body.access_token,
    run: async (token) => (await oauthPost(origin, '/oauth/introspect', tenants, { token })).status,
  },
  'introspection for an organization, JWT': {
    limit: 1,
    prepare: async () => (await tenantTokens({ resource: jwtApi.identifier })).body.access_token,
    run: async (token) => (await oauthPost(origin, '/oauth/introspect', tenants, { token })).status,
  },
  'userinfo for an organization': {
    limit: 1,
    prepare: async () => (await tenantTokens()).body.access_token,
    run: async (token) => (await fetch(`${origin}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status,
  },
  'authorization code flow with a live session': { limit: 3, run: async () => (await userTokens()).status },
  refresh: {
    limit: 2,
    prepare: async () => (await userTokens()).body.refresh_token as string,
    run: async (refresh_token) => (await tokenRequest(origin, client, { grant_type: 'refresh_token', refresh_token })).status,
  },
  ...Object.fromEntries(
    ['delegation.example/jwt', 'delegation.example/opaque', 'impersonation.example/jwt', 'impersonation.example/opaque'].map((name) => [
      `token exchange, ${name}`,
      {
        limit: 2,
        prepare: async () => (await grantedTokens()).body.access_token,
        run: (token: string) => exchange(token, `https://${name}`),
      },
    ]),
  ),
  'token exchange with an actor token': {
    limit: 2,
    prepare: async () => (await grantedTokens()).body.access_token,
    run: (token) => exchange(token, 'https://delegation.example/jwt', { actor_token: token, actor_token_type: accessTokenType }),
  },
  'DPoP: token exchange': {
    limit: 2,
    prepare: async () => (await grantedTokens()).body.access_token,
    run: async (subject_token) => {
      const fields = { grant_type: tokenExchangeGrantType, subject_token, subject_token_type: accessTokenType };
      return (await proven('/oauth/token', { ...fields, resource: 'https://delegation.example/jwt' })).status;
    },
  },
  'identity assertion by an ID token': {
    limit: 2,
    prepare: async () => (await userTokens()).body.id_token as string,
    run: async (token) => (await assertionFor(token, idTokenType)).status,
  },
  'identity assertion by a refresh token': {
    limit: 2,
    prepare: async () => (await userTokens()).body.refresh_token as string,
    run: async (token) => (await assertionFor(token, refreshTokenType)).status,
  },
  ...Object.fromEntries(
    ['jwt', 'opaque'].map((format) => [
      `identity assertion redeemed, ${format}`,
      {
        limit: 2,
        prepare: () => providersAssertion(format),
        run: async (assertion: string) => (await tokenRequest(origin, client, { grant_type: jwtBearerGrantType, assertion })).status,
      },
    ]),
  ),
  'JWT bearer grant of a workload, JWT': { limit: 0, run: async () => (await workloadToken(jwtApi)).status },
  'JWT bearer grant of a workload, opaque': { limit: 1, run: async () => (await workloadToken(opaqueApi)).status },
  'pushed authorization request': { limit: 1, status: 201, run: async () => (await pushRequest()).status },
  'authorization code flow of the client of a document: what was allowed is looked up, as for any client that is not first-party': {
    limit: 4,
    run: async () => (await tokenRequest(origin, documented, (await code({}, documented)).grant)).status,
  },
  'authorization code flow with a pushed request': { limit: 5, run: async () => (await pushedTokens()).status },
  'metadata of an API resource': { limit: 0, run: async () => (await fetch(`${origin}/oauth/resources/${jwtApi.id}/metadata`)).status },
  'metadata of the Management API': {
    limit: 0,
    run: async () => (await fetch(`${origin}/.well-known/oauth-protected-resource/api`)).status,
  },
  'device, start': {
    limit: 1,
    run: async () => (await oauthPost(origin, '/oauth/device_authorization', client, { scope: 'openid' })).status,
  },
  'device, question that is not answered yet': {
    limit: 1,
    status: 400,
    prepare: async () => (await startDevice(origin, client)).device_code,
    run: async (device_code) => (await pollDevice(origin, client, device_code)).status,
  },
  'device, question that gets tokens': {
    limit: 2,
    prepare: approvedDeviceCode,
    run: async (device_code) => (await pollDevice(origin, client, device_code)).status,
  },
  'DPoP: device, question that gets tokens': {
    limit: 2,
    prepare: approvedDeviceCode,
    run: async (device_code) => (await proven('/oauth/token', { grant_type: deviceCode, device_code })).status,
  },
  ...Object.fromEntries(
    ['a person', 'a stranger'].map((who) => [
      `approval, asked of ${who}`,
      {
        limit: 2,
        prepare: async () => (who === 'a person' ? (await addUser(await service.context())).email : `${uuidv7(Date.now())}@example.com`),
        run: async (login_hint: string) => (await askFor(origin, agent, { login_hint })).status,
      },
    ]),
  ),
  'approval, question that is not answered yet': {
    limit: 1,
    status: 400,
    prepare: async () => askOf(origin, agent, { login_hint: (await addUser(await service.context())).email }),
    run: async (auth_req_id) => (await pollApproval(origin, agent, auth_req_id)).status,
  },
  'approval, question that gets tokens': {
    limit: 2,
    prepare: approvedApproval,
    run: async (auth_req_id) => (await pollApproval(origin, agent, auth_req_id)).status,
  },
  'DPoP: client credentials, JWT': { limit: 1, run: async () => (await proven('/oauth/token', machineFields(jwtApi))).status },
  'DPoP: client credentials, opaque': { limit: 1, run: async () => (await proven('/oauth/token', machineFields(opaqueApi))).status },
  'DPoP: authorization code flow with a live session': { limit: 3, run: async () => (await boundUserTokens()).status },
  'DPoP: refresh': {
    limit: 2,
    prepare: async () => (await boundUserTokens()).body.refresh_token as string,
    run: async (refresh_token) => (await proven('/oauth/token', { grant_type: 'refresh_token', refresh_token })).status,
  },
  'DPoP: pushed authorization request': {
    limit: 1,
    status: 201,
    run: async () =>
      (await proven('/oauth/par', { response_type: 'code', redirect_uri: client.redirect_uris[0] as string, scope: 'openid' })).status,
  },
  'DPoP: userinfo': {
    limit: 1,
    prepare: async () => (await boundUserTokens()).body.access_token,
    run: async (token) => (await provenGet('/oauth/userinfo', token)).status,
  },
  'DPoP: Management API, as many as for a bearer token': {
    limit: 2,
    prepare: boundManagementToken,
    run: async (token) => (await provenGet('/api/event_types', token)).status,
  },
  JWKS: { limit: 0, run: async () => (await fetch(`${origin}/.well-known/jwks.json`)).status },
  // A webhook that comes or goes is a security event, too: its entry comes with that of the write.
  'webhook created': { limit: 5, status: 201, run: async () => (await postWebhook()).status },
  'webhook changed': {
    limit: 6,
    prepare: newWebhook,
    run: async (id) => (await webhooks('PATCH', `/${id}`, { type: 'webhook', id, attributes: { name: 'Renamed' } })).status,
  },
  'webhook deleted': { limit: 6, status: 204, prepare: newWebhook, run: async (id) => (await webhooks('DELETE', `/${id}`)).status },
  // Its permissions are asked for by the event alone: they don't change.
  'role changed': {
    limit: 8,
    prepare: newRole,
    run: async (id) => (await manage('PATCH', `roles/${id}`, { type: 'role', id, attributes: { description: 'Renamed' } })).status,
  },
  // The organizations of the person come with the person.
  'account page': { limit: 7, run: async () => (await fetch(`${origin}/account`, { headers: { cookie } })).status },
  'account as JSON': {
    limit: 6,
    run: async () => (await fetch(`${origin}/account`, { headers: { cookie, accept: 'application/json' } })).status,
  },
  // The session, what the assertion says of the person, and that the session has been there.
  'sign-in to a SAML application with a live session': { limit: 3, run: async () => (await samlSignIn()).status },
  'sign-in page': { limit: 0, run: async () => (await fetch(`${origin}/login`)).status },
  // One of them counts the try before the password is looked at, for the account and the browser, and one takes both back.
  'password sign-in with a browser that the account knows: the page and its form': { limit: 8, status: 303, run: signInAgain },
  // What is asked of a newcomer is one of them, the mail another.
  'password sign-in with a browser that is new to the account': {
    limit: 10,
    status: 303,
    run: async () => (await new Browser(origin).login(visitorEmail, password)).status,
  },
  // The session, the consent with its entry, the code: no transaction.
  'consent: the answer, and back with a code': {
    limit: 3,
    status: 303,
    prepare: consentForm,
    run: async (fields) => (await asked.post('/oauth/consent', JSON.parse(fields) as Record<string, string>)).status,
  },
  // Two of them ask which steps there are; none is a transaction.
  'password sign-in that takes a second step': { limit: 6, run: async () => (await twoStepLogin()).status },
  discovery: { limit: 0, run: async () => (await fetch(`${origin}/.well-known/openid-configuration`)).status },
};

/**
 * The fewest statements of some runs of the operation: the process has to remember what it needs, and a change that was made just before may still be on its way
 * to the cache.
 */
async function statementsOf(operation: Operation): Promise<string[]> {
  let fewest: string[] | null = null;
  for (let attempt = 1; attempt <= 6; attempt++) {
    const prepared = (await operation.prepare?.()) ?? '';
    service.deps.cache.synced(service.clock.elapsed());
    app.take();
    expect(await operation.run(prepared)).toBe(operation.status ?? 200);
    const statements = app.take();
    if (fewest === null || statements.length < fewest.length) fewest = statements;
    if (fewest.length <= operation.limit) break;
  }
  return fewest ?? [];
}

function named(name: string): Operation {
  const operation = budget[name];
  if (!operation) throw new Error(name);
  return operation;
}

/** That the operation sends no more than its budget allows; else what it sent is told. */
async function expectWithin(operation: Operation): Promise<void> {
  const sent = await statementsOf(operation);
  const { limit } = operation;
  expect(sent.length, `at most ${limit}; sent were:\n${sent.join('\n')}\n`).toBeLessThanOrEqual(limit);
}

describe('statements of an operation', () => {
  test.each(Object.keys(budget))('%s', (name) => expectWithin(named(name)));
});

test('what somebody without an organization costs, costs somebody in one: none is about organizations alone', async () => {
  const about = (await statementsOf(named('account page'))).filter((statement) => /organization/i.test(statement));
  expect(about).toEqual([expect.stringMatching(/from users u/)]);
});

describe('statements while a webhook wants token.issued', () => {
  beforeAll(async () => {
    const ctx = await service.context();
    const now = ctx.clock.now();
    await ctx.scope.knex('webhooks').insert({
      environment_id: ctx.environment.id,
      id: '01890000-0000-7000-8000-000000000001',
      name: 'tokens',
      url: 'http://127.0.0.1:9/never',
      events: ['token.issued'],
      secret_sealed: ctx.crypto.sealer.seal('whsec_AAAA', 'webhooks/01890000-0000-7000-8000-000000000001'),
      secret_hint: 'AAAA',
      created_at: now,
      updated_at: now,
    });
    ctx.cache.invalidate(ctx.environment.id, 'webhooks');
  });

  /** What stores nothing else: its event takes a statement of its own. */
  const unstored = ['client credentials, JWT', 'JWT bearer grant of a workload, JWT'];

  test.each(Object.keys(budget).filter((name) => !unstored.includes(name)))('%s: not one more (but for those of `unstored`)', (name) =>
    expectWithin(named(name)),
  );

  test('a JWT, which is stored nowhere, costs the one statement that stores its event', async () => {
    for (const name of unstored) expect(await statementsOf(named(name))).toHaveLength(1);
  });

  test('and the events are there', async () => {
    const ctx = await service.context();
    const before = await ctx.scope.knex('events').where({ event_type: 'token.issued' });
    await machineToken(opaqueApi);
    expect(await ctx.scope.knex('events').where({ event_type: 'token.issued' })).toHaveLength(before.length + 1);
  });
});

describe('statements while everything of agents is on', () => {
  beforeAll(async () => {
    const ctx = await service.context();
    const environment_id = ctx.environment.id;
    const rows = (table: string) => ctx.db.knex(table).where({ environment_id });
    const apis = (await rows('api_resources').where({ is_system: false })) as ApiResourceRow[];
    for (const [index, api] of apis.entries())
      await addType(ctx, api, `type_${index}`, { fields: paymentFields, sentence: paymentSentence });
    const authorization_details_types = apis.map((_api, index) => `type_${index}`);
    await rows('api_resources').where({ is_system: false }).update({ agent_claims: true, assertion_access: 'granted' });
    await rows('clients').where({ is_system: false }).update({ is_agent: true, signal_audience: 'everybody', authorization_details_types });
    await rows('client_grants').where({ subject_type: 'user' }).update({ assertions: true });
    await rows('outbound_grants').update({ authorization_details_types });
    await rows('connections').update({ token_storage: true, signals: 'push' });
    const [connection] = (await rows('connections')) as { id: string }[];
    const stamps = { id: uuidv7(0), created_at: ctx.clock.now(), updated_at: ctx.clock.now() };
    await insertProviderGrant(ctx.scope, { ...stamps, client_id: client.id, connection_id: connection?.id ?? '', scopes: ['read'] });
    await ctx.db
      .knex('environments')
      .where({ id: environment_id })
      .update({ unused_authorization_lifetime: 30 * 86_400 });
    for (const one of [tenants, wiki, documented]) await addSignalStream(ctx, one.id);
    for (const table of ['api_resources', 'clients', 'client_grants', 'outbound_grants', 'connections', 'provider_grants', 'environments'])
      ctx.cache.invalidate(environment_id, table);
  });

  /** The page lists the clients that have tokens of the person at the provider. */
  const shown = ['account page', 'account as JSON'];
  /** One for their event. */
  const unstored = ['client credentials, JWT', 'JWT bearer grant of a workload, JWT'];

  /** The first consent to an agent comes with a mail: both are one transaction. */
  const told = ['consent: the answer, and back with a code'];
  const more = (name: string) => (told.includes(name) ? 2 : shown.includes(name) || unstored.includes(name) ? 1 : 0);

  test.each(Object.keys(budget))('%s: not one more (but for `shown`, `unstored` and `told`)', (name) =>
    expectWithin({ ...named(name), limit: named(name).limit + more(name) }),
  );

  test('and they are agents’ tokens, for APIs with types', async () => {
    const { body } = await grantedTokens();
    expect(claimsOf(body.access_token)).toMatchObject({ act: { client_id: client.id, sub_profile: 'ai_agent' } });
    const metadata = (await (await fetch(`${origin}/oauth/resources/${grantedApi.id}/metadata`)).json()) as Record<string, unknown>;
    expect(metadata['authorization_details_types_supported']).toHaveLength(1);
  });

  test('identity assertions with details cost no more either', async () => {
    const ctx = await service.context();
    const identifier = 'https://asserted.example/opaque';
    const api = (await ctx.db.knex('api_resources').where({ environment_id: ctx.environment.id, identifier }).first()) as ApiResourceRow;
    const [type] = (await ctx.db.knex('authorization_detail_types').where({ api_resource_id: api.id })) as { name: string }[];
    const authorization_details = JSON.stringify([{ type: type?.name, amount: { currency: 'EUR', amount: '7' }, payee: 'x' }]);
    const { id_token } = (await userTokens()).body;
    const withDetails = ({ status, body }: TokenAnswer) => (body['authorization_details'] === undefined ? -1 : status);
    await expectWithin({
      limit: 2,
      run: async () => withDetails(await assertionFor(id_token as string, idTokenType, { authorization_details })),
    });
    await expectWithin({
      limit: 2,
      prepare: () => providersAssertion('opaque', { authorization_details: JSON.parse(authorization_details) as unknown }),
      run: async (assertion) => withDetails(await tokenRequest(origin, client, { grant_type: jwtBearerGrantType, assertion })),
    });
  });
});
