// Clients that are deleted, and ids that are never used again; what ends when a client's tokens are revoked; names of clients that are names of APIs.
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ensureMachineClient } from '../../src/domain/configuration/bootstrap.js';
import { unusedClientPass } from '../../src/jobs/unused-clients.js';
import { useRefreshToken } from '../../src/db/tables/refreshes.js';
import { sessionBounds } from '../../src/domain/sessions/sessions.js';
import { findPresented } from '../../src/domain/tokens/refresh-token.js';
import { tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { authorizeGet, authorizeQuery } from '../support/authorize.js';
import type { Browser } from '../support/browser.js';
import { startDocumentServer, type DocumentServer } from '../support/client-documents.js';
import { apply, problemsOf } from '../support/configuration.js';
import { addClient, addGrant, addMachine, addResource, addUser, type TestClient } from '../support/data.js';
import { manage, startManagedService, type Api, type Document } from '../support/management.js';
import { allowCode, authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { setEnvironment, signedIn } from '../support/signed-in.js';

let documents: DocumentServer;
const service = sharedService(async () => {
  documents = await startDocumentServer();
  return startManagedService({}, { overrides: { fetch: documents.fetch } });
});
afterAll(() => documents?.close());
const ctx = contextOf(service);
const api: Api = shared(() => manage(service.url));
const introspector = shared(() => addClient(ctx));
let browser: Browser;
beforeAll(async () => {
  const user = await addUser(ctx);
  browser = await signedIn(service, user);
});
beforeEach(() => setEnvironment(service, { client_id_metadata_documents: 'open' }));

let count = 0;
const fresh = () => documents.url(`/deleted/${++count}.json`);
const ask = async (client: TestClient) => {
  const response = await authorizeGet(browser, authorizeQuery(client, { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }));
  return { status: response.status, html: await response.text() };
};
const remove = (id: string) => api.delete(`/clients/${encodeURIComponent(id)}`);
const introspect = async (token: string, by: TestClient = introspector) =>
  (await oauthPost(service.url, '/oauth/introspect', by, { token })).body;
const errorsOf = ({ status, body }: { status: number; body: Document }) => [
  status,
  ...(body['errors'] as Document[]).map(({ code, source }) => `${code} ${source?.pointer}`),
];

describe('a client that was let in by its metadata document', () => {
  test('and deleted by an administrator stays out until one registers it; what it held stays ended (attack 30.946)', async () => {
    const client = documents.publish(fresh());
    const { body } = await redeem(service.url, client, await allowCode(browser, client, { scope: 'openid' }));
    expect((await remove(client.id)).status).toBe(204);
    const refused = await ask(client);
    expect([refused.status, refused.html.includes('was of a client that was deleted')]).toEqual([400, true]);
    expect((await oauthPost(service.url, '/oauth/par', client, { response_type: 'code', client_id: client.id })).body.error).toBe(
      'invalid_client',
    );
    expect(await ctx.db.knex('clients').where({ id: client.id })).toEqual([]);

    const made = await api.create('clients', { client_id_metadata_uri: client.id });
    expect(made['attributes']).toMatchObject({ verified: true, tokens_not_before: expect.any(String) });
    expect((await ask(client)).html).toContain('Allow Notes Helper to access your account?');
    expect(await introspect(body.access_token)).toEqual({ active: false });
    service.clock.advance(1);
    const again = await redeem(service.url, client, await allowCode(browser, client, { scope: 'openid' }));
    expect(await introspect(again.body.access_token)).toMatchObject({ active: true, client_id: client.id });
  });
});

describe('a client_id that was deleted is never used again (attack 9.947)', () => {
  test('not by a configuration document', async () => {
    const item = { client_id: 'shop-web', name: 'Shop', application_type: 'machine' };
    const document = { version: 1, clients: [item] };
    expect((await apply(api, document)).status).toBe(200);
    expect((await remove('shop-web')).status).toBe(204);
    const refused = await apply(api, document);
    expect(refused.status).toBe(422);
    expect(problemsOf(refused).join()).toContain('reserved_name');
    expect(refused.text).toContain('shop-web was of a client that was deleted, and is never used again: choose another client_id.');
  });

  test('not by MANAGEMENT_CLIENT_ID, and not by the one that deleted itself', async () => {
    const gone = await addClient(ctx);
    expect((await remove(gone.id)).status).toBe(204);
    const wanted = { client_id: gone.id, client_secret: randomBytes(32).toString('hex'), name: 'Management client' };
    await expect(ensureMachineClient(ctx, wanted)).rejects.toThrow('is never used again');
    expect(await ctx.db.knex('clients').where({ id: gone.id })).toEqual([]);

    await setEnvironment(service, { client_registration_policy: 'open' });
    const registered = await fetch(`${service.url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://app.example/cb'] }),
    });
    const own = (await registered.json()) as { client_id: string; registration_client_uri: string; registration_access_token: string };
    const deleted = await fetch(own.registration_client_uri, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${own.registration_access_token}` },
    });
    expect(deleted.status).toBe(204);
    await expect(ensureMachineClient(ctx, { ...wanted, client_id: own.client_id })).rejects.toThrow('is never used again');
  });
});

describe('an identifier of an API resource is no id of a client (attack 8.948)', () => {
  test.each(['https://both.example/app', 'https://BOTH.example:443/app/'])('an API named %s as a client is: 422', async (identifier) => {
    const id = 'https://both.example/app';
    if (!(await ctx.db.knex('clients').where({ id }).first())) await addClient(ctx, { id });
    const body = { data: { type: 'api_resource', attributes: { identifier, name: 'Both' } } };
    expect(errorsOf(await api.post('/api_resources', body))).toEqual([422, 'reserved_name /data/attributes/identifier']);
  });

  test('a client named as an API is: refused in a document, as a metadata document, and when an administrator registers that', async () => {
    const client = documents.publish(fresh());
    await addResource(ctx, { identifier: client.id });
    const refused = await ask(client);
    expect([refused.status, refused.html.includes('is the identifier of an API resource')]).toEqual([400, true]);
    const registering = { data: { type: 'client', attributes: { client_id_metadata_uri: client.id } } };
    expect(errorsOf(await api.post('/clients', registering))).toEqual([422, 'reserved_name /data/attributes/client_id_metadata_uri']);
    const document = { version: 1, clients: [{ client_id: client.id, name: 'X', application_type: 'machine' }] };
    expect(problemsOf(await apply(api, document)).join()).toContain('reserved_name');
  });

  test('a page of consent that was open when the API was made stores no client', async () => {
    const client = documents.publish(fresh());
    const { html } = await ask(client);
    await addResource(ctx, { identifier: client.id });
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1] ?? '';
    const answer = await browser.post('/oauth/consent', { _csrf: field('_csrf'), request: field('request'), decision: 'allow' });
    expect(answer.status).toBe(400);
    expect(await ctx.db.knex('clients').where({ id: client.id })).toEqual([]);
  });
});

describe('revoke_tokens of a client (attack 6.949)', () => {
  const revoke = (client: TestClient) => api.patch(`/clients/${client.id}/revoke_tokens`);

  test.each(['jwt', 'opaque'] as const)('its own %s tokens end at introspection, and it gets new ones at once', async (token_format) => {
    const resource = await addResource(ctx, { identifier: `https://api.example/${randomUUID()}`, token_format });
    const [machine, other] = [await addMachine(ctx, resource), await addMachine(ctx, resource)];
    const get = async (client: TestClient) =>
      (await tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: resource.identifier })).body.access_token;
    const [token, others] = [await get(machine), await get(other)];
    service.clock.advance(1);
    const answer = await revoke(machine);
    expect([answer.status, answer.body['data'].attributes.tokens_not_before]).toEqual([200, expect.any(String)]);
    expect(await introspect(token)).toEqual({ active: false });
    expect(await introspect(others)).toMatchObject({ active: true });
    expect(await introspect(await get(machine))).toMatchObject({ active: true });
  });

  test('its tokens of people end at userinfo, in refreshes and exchanges; a code that waits too; consents and credentials stay', async () => {
    const client = await addClient(ctx, { access_token_format: 'jwt' });
    const code = () => authorizeCode(browser, client, { scope: 'openid offline_access' });
    const { access_token, refresh_token = '' } = (await redeem(service.url, client, await code())).body;
    const waiting = await code();
    const target = await addResource(ctx, { identifier: `https://api.example/${randomUUID()}` });
    await addGrant(ctx, client, target, ['read'], 'user', { token_exchange: 'delegation' });
    await ctx.db
      .knex('clients')
      .where({ id: client.id })
      .update({ grant_types: [...client.grant_types, tokenExchangeGrantType] });
    ctx.cache.invalidate(ctx.environment.id, 'clients');
    const exchanged = () =>
      tokenRequest(service.url, client, {
        grant_type: tokenExchangeGrantType,
        subject_token: access_token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        resource: target.identifier,
      });
    const userinfo = async () =>
      (await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${access_token}` } })).status;
    expect([await userinfo(), (await exchanged()).status]).toEqual([200, 200]);
    expect(await introspect(refresh_token, client)).toMatchObject({ active: true });
    service.clock.advance(1);
    expect((await revoke(client)).status).toBe(200);
    expect(await userinfo()).toBe(401);
    expect((await exchanged()).body.error).toBe('invalid_request');
    expect(await introspect(refresh_token, client)).toEqual({ active: false });
    const refreshed = await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token });
    expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant']);
    expect((await redeem(service.url, client, waiting)).body.error).toBe('invalid_grant');
    expect((await redeem(service.url, client, await code())).status).toBe(200);
  });

  test('a client of the Management API: its token is refused there', async () => {
    const resource = await ctx.db.knex('api_resources').where({ is_system: true, environment_id: ctx.environment.id }).first();
    const machine = await addClient(ctx, { application_type: 'machine', grant_types: ['client_credentials'] });
    await addGrant(ctx, machine, resource, ['roles:read']);
    const { access_token } = (await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: resource.identifier }))
      .body;
    const read = async () => (await fetch(`${service.url}/api/roles`, { headers: { authorization: `Bearer ${access_token}` } })).status;
    expect(await read()).toBe(200);
    service.clock.advance(1);
    await revoke(machine);
    expect(await read()).toBe(401);
  });

  test('a refresh token is not taken by a process that has not heard of it yet: the statement looks itself', async () => {
    const client = await addClient(ctx);
    const code = await authorizeCode(browser, client, { scope: 'openid offline_access' });
    const { refresh_token = '' } = (await redeem(service.url, client, code)).body;
    const { id, generation } = (await findPresented(ctx, refresh_token, sessionBounds(ctx))) ?? {};
    if (!id || generation === undefined) throw new Error('the token is unknown');
    const use = () =>
      useRefreshToken(ctx.scope, {
        use: { row: { id, generation }, successor: null, next_expires_at: null }, now: service.clock.now(), jti: randomUUID(),
        access_token_format: 'jwt', access_token_digest: randomBytes(32), access_token_lifetime: 60, scope: 'openid', audience: 'x', authorization_details: null, event_id: randomUUID(),
        subscribers: [], bound: { jkt: null, refresh_jkt: null, proof: null },
      }); // prettier-ignore
    expect(await use()).not.toBeNull();
    service.clock.advance(1);
    await ctx.db.knex('clients').where({ id: client.id }).update({ tokens_not_before: service.clock.now() });
    expect(await use()).toBeNull();
  });
});

// Last: the others’ tokens end by the clock.
test('a client of a metadata document that was removed because nobody used it may come again', async () => {
  const client = documents.publish(fresh());
  await allowCode(browser, client, { scope: 'openid' });
  await ctx.db.knex('consents').where({ client_id: client.id }).delete();
  service.clock.advance(2 * 86_400_000);
  await unusedClientPass(service.deps);
  expect(await ctx.db.knex('clients').where({ id: client.id })).toEqual([]);
  browser = await signedIn(service, await addUser(ctx));
  expect((await ask(client)).html).toContain('Allow Notes Helper to access your account?');
});

describe('no client has the issuer or an endpoint of this service as its id (attack 8.1069)', () => {
  /** The token of the others has run out by now. */
  const admin: Api = shared(() => manage(service.url));
  const own = ['', '/', '/oauth/token', '/oauth/userinfo/', '/api', '/.well-known/openid-configuration?x=1'];

  test('neither by a configuration document nor by MANAGEMENT_CLIENT_ID', async () => {
    const upper = service.url.replace(/^http:..[^:]+/, (start) => start.toUpperCase());
    const item = { name: 'Mine', application_type: 'machine' };
    for (const client_id of own.flatMap((path) => [service.url + path, upper + path])) {
      const refused = await apply(admin, { version: 1, clients: [{ client_id, ...item }] });
      expect([client_id, refused.status, problemsOf(refused).join()]).toEqual([client_id, 422, expect.stringContaining('reserved_name')]);
      expect(refused.text).toContain(`${client_id} is an address of this service`);
      const wanted = { client_id, client_secret: randomBytes(32).toString('hex'), name: 'Management client' };
      await expect(ensureMachineClient(ctx, wanted)).rejects.toThrow('is an address of this service');
    }
    // Beside them it may be.
    for (const client_id of [`${service.url}/apis`, 'api', 'urn:example:token'])
      expect([client_id, (await apply(admin, { version: 1, clients: [{ client_id, ...item }] })).status]).toEqual([client_id, 200]);
  });

  test('nor as a metadata document, which is not read: invalid_client at /oauth/par, 422 when an administrator registers it', async () => {
    const anybody = await addClient(ctx);
    for (const path of own.slice(1)) {
      const id = service.url + path;
      const asked = await ask({ ...anybody, id });
      expect([path, asked.status, asked.html.includes('is an address of this service')]).toEqual([path, 400, true]);
      const pushed = await fetch(`${service.url}/oauth/par`, {
        method: 'POST',
        body: new URLSearchParams({ client_id: id, response_type: 'code', redirect_uri: 'https://app.example/cb' }),
      });
      expect([path, pushed.status, await pushed.json()]).toEqual([path, 401, expect.objectContaining({ error: 'invalid_client' })]);
      const registering = { data: { type: 'client', attributes: { client_id_metadata_uri: id } } };
      expect(errorsOf(await admin.post('/clients', registering))).toEqual([422, 'invalid_url /data/attributes/client_id_metadata_uri']);
      expect(await ctx.db.knex('clients').where({ id })).toEqual([]);
    }
  });
});
