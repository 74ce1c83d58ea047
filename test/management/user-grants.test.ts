// People's permissions of the Management API reach only clients that were let in; other API resources choose.
import { beforeAll, describe, expect, test } from 'vitest';
import { update } from '../../src/db/scope.js';
import { findApiResourceByIdentifier, type ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { Browser, locationParameters, pkcePair } from '../support/browser.js';
import { addClient, addGrant, addResource, password, type TestClient } from '../support/data.js';
import { Api, link, manage, managementToken, startManagedService, type Document } from '../support/management.js';
import { allowCode, claimsOf, oauthPost, redeem, tokenRequest, authorizeCode } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService(() => startManagedService({ ADMIN_EMAIL: 'root@example.com', ADMIN_PASSWORD: password }));
const ctx = contextOf(service);
const api = shared(() => manage(service.url));
let management: ApiResourceRow;
let browser: Browser;

beforeAll(async () => {
  management = (await findApiResourceByIdentifier(ctx.scope, `${service.url}/api`)) as ApiResourceRow;
  browser = new Browser(service.url);
  await browser.login('root@example.com', password);
});

const resource = () => management.identifier;

/** Where GET /oauth/authorize sends the administrator's browser. */
async function authorize(client: TestClient, parameters: Record<string, string>): Promise<Response> {
  const { challenge } = pkcePair();
  const query = { response_type: 'code', client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', resource: resource() };
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
  return browser.get(`/oauth/authorize?${new URLSearchParams({ ...query, ...pkce, ...parameters })}`);
}

const errorOf = async (answer: Promise<Response>) => locationParameters(await answer).get('error');

const grantBody = (client_id: string, resource_id: string, attributes: Document) => ({
  data: {
    type: 'client_grant',
    attributes,
    relationships: { client: link('client', client_id), api_resource: link('api_resource', resource_id) },
  },
});

/** A client with a grant to ask people for these Management permissions. */
async function letIn(scopes: string[], row: Partial<TestClient> = {}): Promise<{ client: TestClient; grant_id: string }> {
  const client = await addClient(ctx, { first_party: true, grant_types: ['authorization_code', 'refresh_token'], ...row });
  const answer = await api.post('/client_grants', grantBody(client.id, management.id, { scopes, subject_type: 'user' }));
  expect(answer.status).toBe(201);
  return { client, grant_id: answer.body['data'].id as string };
}

/** A token of the administrator for the Management API, by the consent page. */
async function personToken(client: TestClient, scope: string) {
  const answer = await redeem(service.url, client, await allowCode(browser, client, { resource: resource(), scope }));
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}

const introspect = async (client: TestClient, token: string) =>
  (await oauthPost(service.url, '/oauth/introspect', client, { token })).body as Document;

describe('reach: a client that nobody let in', () => {
  test('a first_party client gets no Management token of an administrator, not by one click and not by asking (attack 22.232)', async () => {
    const client = await addClient(ctx, { first_party: true });
    expect(await errorOf(authorize(client, { scope: 'openid users:write' }))).toBe('invalid_target');
    expect(await errorOf(authorize(client, { scope: 'openid users:write', prompt: 'consent' }))).toBe('invalid_target');
    expect(await errorOf(authorize(client, { scope: 'openid' }))).toBe('invalid_target');
  });

  test('its grant for itself lets it ask people for nothing, and a grant for people gives it nothing for itself (attack 22.233)', async () => {
    const client = await addClient(ctx, { first_party: true, grant_types: ['authorization_code', 'client_credentials'] });
    await addGrant(ctx, client, management, ['users:read']);
    expect(await errorOf(authorize(client, { scope: 'users:read' }))).toBe('invalid_target');
    const { client: other } = await letIn(['users:read'], { grant_types: ['authorization_code', 'client_credentials'] });
    const own = await tokenRequest(service.url, other, { grant_type: 'client_credentials', resource: resource() });
    expect([own.status, own.body.error]).toEqual([400, 'invalid_target']);
  });

  test('a stranger is not told before signing in, but prompt=none is', async () => {
    const client = await addClient(ctx, { first_party: true });
    const stranger = new Browser(service.url);
    const query = { response_type: 'code', client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', resource: resource() };
    const pkce = { code_challenge: pkcePair().challenge, code_challenge_method: 'S256' };
    const ask = (more: Record<string, string>) => stranger.get(`/oauth/authorize?${new URLSearchParams({ ...query, ...pkce, ...more })}`);
    expect((await ask({})).headers.get('location')).toMatch(/^\/login\?/);
    expect(locationParameters(await ask({ prompt: 'none' })).get('error')).toBe('invalid_target');
  });
});

describe('a client that was let in', () => {
  test('gets what its grant holds of what the person holds; its own list of scopes adds nothing', async () => {
    const { client } = await letIn(['users:read', 'roles:read'], { scopes: ['openid', 'users:read', 'users:write', 'roles:read'] });
    const body = await personToken(client, 'openid users:read users:write');
    expect(body['scope']).toBe('openid users:read');
    expect(claimsOf(body.access_token)).toMatchObject({ scope: 'openid users:read', permissions: ['users:read'] });
    const caller = new Api(service.url, body.access_token);
    expect([(await caller.get('/users')).status, (await caller.get('/roles')).status]).toEqual([200, 403]);
  });

  test('asks every time, its own or not, and prompt=none is consent_required; a refresh goes on without a page (attack 22.233)', async () => {
    for (const first_party of [true, false]) {
      const { client } = await letIn(['users:read'], { first_party });
      const body = await personToken(client, 'openid users:read');
      expect(await errorOf(authorize(client, { scope: 'openid users:read', prompt: 'none' }))).toBe('consent_required');
      const again = await authorize(client, { scope: 'openid users:read' });
      expect([again.status, (await again.text()).includes('name="decision"')]).toEqual([200, true]);
      const fields = { grant_type: 'refresh_token', refresh_token: body.refresh_token as string };
      const refreshed = await tokenRequest(service.url, client, fields);
      expect([refreshed.status, refreshed.body['scope']]).toEqual([200, 'openid users:read']);
      expect((await new Api(service.url, refreshed.body.access_token).get('/users')).status).toBe(200);
    }
  });

  test('may be a public one', async () => {
    const { client } = await letIn(['users:read'], { application_type: 'spa', token_endpoint_auth_method: 'none', require_pkce: true });
    expect((await personToken(client, 'users:read'))['scope']).toBe('users:read');
  });

  test.each(['jwt', 'opaque'] as const)(
    'a withdrawn grant ends %s tokens at once, everywhere, and the refresh token gives none',
    async (format) => {
      await update<ApiResourceRow>(ctx.scope, 'api_resources', { id: management.id }, { token_format: format });
      const { client, grant_id } = await letIn(['users:read', 'roles:read']);
      const body = await personToken(client, 'openid users:read roles:read');
      const caller = new Api(service.url, body.access_token);
      const fields = { grant_type: 'refresh_token', refresh_token: body.refresh_token as string };
      expect((await caller.get('/users')).status).toBe(200);

      const less = { data: { type: 'client_grant', id: grant_id, attributes: { scopes: ['roles:read'] } } };
      expect((await api.patch(`/client_grants/${grant_id}`, less)).status).toBe(200);
      expect([(await caller.get('/users')).status, (await caller.get('/roles')).status]).toEqual([403, 200]);
      expect((await introspect(client, body.access_token))['scope']).toBe('openid roles:read');
      expect((await tokenRequest(service.url, client, fields)).body['scope']).toBe('openid roles:read');

      expect((await api.delete(`/client_grants/${grant_id}`)).status).toBe(204);
      expect((await caller.get('/roles')).status).toBe(401);
      expect(await introspect(client, body.access_token)).toEqual({ active: false });
      const userinfo = await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${body.access_token}` } });
      expect(userinfo.status).toBe(401);
      const refused = await tokenRequest(service.url, client, fields);
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_target']);
    },
  );

  test('a code whose grant is withdrawn before it is redeemed gives nothing', async () => {
    const { client, grant_id } = await letIn(['users:read']);
    const code = await allowCode(browser, client, { resource: resource(), scope: 'users:read' });
    await api.delete(`/client_grants/${grant_id}`);
    const answer = await redeem(service.url, client, code);
    expect([answer.status, answer.body.error, answer.body.access_token]).toEqual([400, 'invalid_target', undefined]);
  });
});

describe('grants to ask people', () => {
  test('are made by those who hold what they reach', async () => {
    const client = await addClient(ctx);
    const machine = await addClient(ctx, { application_type: 'machine', grant_types: ['client_credentials'] });
    await addGrant(ctx, machine, management, ['client_grants:write', 'client_grants:read', 'users:read']);
    const token = await managementToken(service.url, { id: machine.id, client_secret: machine.client_secret });
    const narrow = new Api(service.url, token);
    const beyond = await narrow.post(
      '/client_grants',
      grantBody(client.id, management.id, { scopes: ['users:write'], subject_type: 'user' }),
    );
    expect([beyond.status, beyond.body['errors'][0].code]).toEqual([403, 'scope_escalation']);
    const within = await narrow.post(
      '/client_grants',
      grantBody(client.id, management.id, { scopes: ['users:read'], subject_type: 'user' }),
    );
    expect([within.status, within.body['data'].attributes]).toMatchObject([201, { scopes: ['users:read'], subject_type: 'user' }]);
    const { id } = within.body['data'] as { id: string };
    const wider = await narrow.update('client_grants', id, { scopes: ['users:write'] });
    expect([wider.status, wider.body['errors'][0].code]).toEqual([403, 'scope_escalation']);
  });

  test('one of each type, client unless said otherwise; a public client has none for itself; the type stays', async () => {
    const client = await addClient(ctx);
    const own = await api.post('/client_grants', grantBody(client.id, management.id, { scopes: ['users:read'] }));
    expect([own.status, own.body['data'].attributes.subject_type]).toEqual([201, 'client']);
    const people = grantBody(client.id, management.id, { scopes: ['users:read'], subject_type: 'user' });
    expect((await api.post('/client_grants', people)).status).toBe(201);
    expect((await api.post('/client_grants', people)).status).toBe(409);
    expect((await api.get(`/client_grants?filter[client]=${client.id}&filter[subject_type]=user`)).body['data']).toHaveLength(1);
    const { id } = own.body['data'] as { id: string };
    const turned = { data: { type: 'client_grant', id, attributes: { subject_type: 'user' } } };
    expect((await api.patch(`/client_grants/${id}`, turned)).status).toBe(403);
    const spa = await addClient(ctx, { application_type: 'spa', token_endpoint_auth_method: 'none', require_pkce: true });
    const refused = await api.post('/client_grants', grantBody(spa.id, management.id, { scopes: ['users:read'] }));
    expect([refused.status, refused.body['errors'][0].code]).toEqual([422, 'public_client']);
  });
});

describe('user_access of an API resource', () => {
  const patch = (row: ApiResourceRow, user_access: string) => api.update('api_resources', row.id, { user_access });

  test('open: any client asks people; granted: those with a grant, for what it holds; tokens of others end', async () => {
    const notes = await addResource(ctx, { identifier: 'https://api.example/chosen' });
    const own = await addClient(ctx, { first_party: true, grant_types: ['authorization_code', 'refresh_token'] });
    const fields = { scope: 'openid read write', resource: notes.identifier };
    const { body } = await redeem(service.url, own, await authorizeCode(browser, own, fields));
    expect(body['scope']).toBe('openid read write');
    expect(await introspect(own, body.access_token)).toMatchObject({ active: true });

    expect((await patch(notes, 'granted')).status).toBe(200);
    expect(await introspect(own, body.access_token)).toEqual({ active: false });
    const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token as string };
    expect((await tokenRequest(service.url, own, refresh)).body.error).toBe('invalid_target');
    expect(await errorOf(authorize(own, fields))).toBe('invalid_target');

    await addGrant(ctx, own, notes, ['read'], 'user');
    // No page: only the Management API is asked for each time.
    const less = await redeem(service.url, own, await authorizeCode(browser, own, fields));
    expect(less.body['scope']).toBe('openid read');
    expect((await patch(notes, 'open')).status).toBe(200);
    expect((await redeem(service.url, own, await authorizeCode(browser, own, fields))).body['scope']).toBe('openid read write');
  });

  test('the Management API is never open', async () => {
    expect((await api.get(`/api_resources/${management.id}`)).body['data'].attributes.user_access).toBe('granted');
    const answer = await patch(management, 'open');
    expect([answer.status, answer.body['errors'][0].code]).toEqual([403, 'system_record']);
    // Not even with a row that says so: one that an older release made, until the next start repairs it.
    await update<ApiResourceRow>(ctx.scope, 'api_resources', { id: management.id }, { user_access: 'open' });
    ctx.cache.invalidate(ctx.environment.id, 'api_resources');
    expect(await errorOf(authorize(await addClient(ctx, { first_party: true }), { scope: 'users:read' }))).toBe('invalid_target');
  });
});
