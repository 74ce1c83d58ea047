// Clients that are known by a document alone (OAuth Client ID Metadata Document): how they come, what is kept of them, and when they go.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import type { ClientRow } from '../../src/db/tables/clients.js';
import { verifyClient } from '../../src/domain/clients/registration.js';
import { transaction } from '../../src/domain/context.js';
import { unusedClientPass } from '../../src/jobs/unused-clients.js';
import { authorizeGet, authorizeQuery, expectRedirectError } from '../support/authorize.js';
import { type Browser, pkcePair } from '../support/browser.js';
import { json, startDocumentServer, describing, type DocumentServer } from '../support/client-documents.js';
import { addClient, addResource, addUser, type TestClient } from '../support/data.js';
import { allowCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { startManagedService } from '../support/management.js';
import { sharedService } from '../support/shared-service.js';
import { setEnvironment, signedIn } from '../support/signed-in.js';
import { createClientKey } from '../support/signed-jwt.js';

let documents: DocumentServer;
const service = sharedService(async () => {
  documents = await startDocumentServer();
  return startManagedService({}, { overrides: { fetch: documents.fetch } });
});
afterAll(() => documents?.close());
let browser: Browser;
let api: ApiResourceRow;

beforeAll(async () => {
  const ctx = await service.context();
  api = await addResource(ctx, { identifier: 'https://mcp.example', allow_unverified_clients: true });
});
beforeEach(async () => {
  await setEnvironment(service, { client_id_metadata_documents: 'open', client_id_metadata_hosts: [] });
  const user = await addUser(await service.context());
  browser = await signedIn(service, user);
});

let count = 0;
/** An address that no test has used. */
const fresh = (host?: string) => documents.url(`/clients/${++count}.json`, host);
const rowOf = async (client: Pick<TestClient, 'id'>): Promise<ClientRow | undefined> =>
  service.deps.db.knex('clients').where({ id: client.id }).first() as Promise<ClientRow | undefined>;
const fetches = (client: Pick<TestClient, 'id'>) => documents.requests.filter(({ target }) => target.endsWith(new URL(client.id).pathname));
const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' };
const ask = (client: TestClient, extra: Record<string, string> = {}) =>
  authorizeGet(browser, authorizeQuery(client, { ...challenge, ...extra }));
const tokens = async (client: TestClient) =>
  redeem(service.url, client, await allowCode(browser, client, { resource: api.identifier, scope: 'openid read offline_access' }));
const refresh = (client: TestClient, refresh_token: string | undefined) =>
  tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token: refresh_token ?? '' });
const minutes = (count: number) => service.clock.advance(count * 60_000);

describe('a client that is known by its document', () => {
  test('signs somebody in and gets tokens, without registering; its row comes with the first consent', async () => {
    const client = documents.publish(fresh());
    const html = await (await ask(client)).text();
    expect(html).toContain('Allow Notes Helper to access your account?');
    expect(html).toContain('Not verified');
    expect(html).toContain(`It comes from ${new URL(client.id).host}.`);
    expect(await rowOf(client)).toBeUndefined();
    const { status, body } = await tokens(client);
    expect([status, body['scope']]).toEqual([200, 'openid read offline_access']);
    expect(await rowOf(client)).toMatchObject({
      name: 'Notes Helper', origin: 'metadata_document', verified: false, first_party: false, token_endpoint_auth_method: 'none', require_pkce: true,
    }); // prettier-ignore
    const resourceServer = await addClient(await service.context(), { introspection_allowed: true });
    const told = await oauthPost(service.url, '/oauth/introspect', resourceServer, { token: body.access_token });
    expect(told.body).toMatchObject({ active: true, client_id: client.id });
    expect((await refresh(client, body.refresh_token)).status).toBe(200);
    expect(fetches(client)).toHaveLength(1);
    const [event] = await service.deps.db.knex('audit_logs').where({ action: 'consent.given' }).orderBy('occurred_at', 'desc').limit(1);
    expect(JSON.stringify(event.targets ?? event)).toContain(client.id);
  });

  test('leaves nothing behind when nobody allows it', async () => {
    const client = documents.publish(fresh());
    await ask(client);
    await expectRedirectError(service, client, 'consent_required', () => ask(client, { prompt: 'none' }));
    expect(await rowOf(client)).toBeUndefined();
    expect((await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token: 'rt_x' })).body.error).toBe(
      'invalid_client',
    );
  });

  test('is let in and verified where its host is listed; others are refused unfetched', async () => {
    await setEnvironment(service, { client_id_metadata_documents: 'allow_list', client_id_metadata_hosts: ['client.example'] });
    const client = documents.publish(fresh());
    expect(await (await ask(client)).text()).not.toContain('Not verified');
    expect((await tokens(client)).status).toBe(200);
    expect(await rowOf(client)).toMatchObject({ verified: true, verified_by_host: true });
    const other = documents.publish(fresh('other.example'));
    const refused = await ask(other);
    expect([refused.status, (await refused.text()).includes('applications of its host are not let in')]).toEqual([400, true]);
    expect(fetches(other)).toHaveLength(0);
  });

  test('holds nothing while such as it are let in no longer, and what it held when they are again (attack 30.1093)', async () => {
    const client = documents.publish(fresh());
    let { body } = await tokens(client);
    const resourceServer = await addClient(await service.context(), { introspection_allowed: true });
    const isActive = async () =>
      (await oauthPost(service.url, '/oauth/introspect', resourceServer, { token: body.access_token })).body['active'];
    for (const policy of ['off', 'allow_list'] as const) {
      await setEnvironment(service, { client_id_metadata_documents: policy, client_id_metadata_hosts: ['other.example'] });
      expect([policy, (await refresh(client, body.refresh_token)).body.error, await isActive()]).toEqual([policy, 'invalid_client', false]);
      await setEnvironment(service, { client_id_metadata_documents: 'allow_list', client_id_metadata_hosts: ['client.example'] });
      expect(await isActive()).toBe(true);
      ({ body } = await refresh(client, body.refresh_token));
    }
    await service.deps.db.knex('clients').where({ id: client.id }).update({ verified: true });
    await setEnvironment(service, { client_id_metadata_documents: 'off' });
    expect([(await refresh(client, body.refresh_token)).status, await isActive()]).toEqual([200, true]);
  });

  test('is unknown where documents are off, which discovery does not name then', async () => {
    const discovery = async () =>
      (await (await fetch(`${service.url}/.well-known/oauth-authorization-server`)).json()) as Record<string, unknown>;
    expect((await discovery())['client_id_metadata_document_supported']).toBe(true);
    await setEnvironment(service, { client_id_metadata_documents: 'off' });
    expect(await discovery()).not.toHaveProperty('client_id_metadata_document_supported');
    const client = documents.publish(fresh());
    const refused = await ask(client);
    expect([refused.status, (await refused.text()).includes('don’t recognize')]).toEqual([400, true]);
    expect(fetches(client)).toHaveLength(0);
  });

  test('of which nothing is said of the method proves itself by PKCE; without grant types it gets no refresh token', async () => {
    const client = documents.publish(fresh(), { token_endpoint_auth_method: undefined, grant_types: undefined, response_types: undefined });
    const { status, body } = await redeem(service.url, { ...client, token_endpoint_auth_method: 'none' }, await allowCode(browser, client));
    expect([status, body.refresh_token]).toEqual([200, undefined]);
    await expectRedirectError(service, client, 'invalid_request', () => authorizeGet(browser, authorizeQuery(client)));
  });

  test('loses what is not for strangers: other grant types and response types, being first-party', async () => {
    const client = documents.publish(fresh(), {
      grant_types: ['authorization_code', 'client_credentials', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code', 'id_token'],
      first_party: true, verified: true, origin: 'administrator',
    }); // prettier-ignore
    await allowCode(browser, client, { scope: 'openid' });
    expect(await rowOf(client)).toMatchObject({ grant_types: ['authorization_code'], first_party: false, verified: false });
  });

  test('may stand on this machine, by http, where private networks are allowed; any port of a loopback redirect URI will do', async () => {
    const { createServer } = await import('node:http');
    const server = createServer((_req, res) => json(describing(url, { redirect_uris: ['http://127.0.0.1/cb'] }))(_req, res));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/client.json`;
    const client = { id: url, token_endpoint_auth_method: 'none', redirect_uris: ['http://127.0.0.1:49152/cb'] } as TestClient;
    expect(await (await ask(client)).text()).toContain('any program can claim this name');
    expect((await redeem(service.url, client, await allowCode(browser, client, { scope: 'openid' }))).status).toBe(200);
    server.close();
  });
});

describe('a document', () => {
  test('is read once for as long as its headers allow, and asked about with its ETag then', async () => {
    const client = documents.publish(fresh(), {}, { 'cache-control': 'public, max-age=600', etag: '"one"' });
    await ask(client);
    minutes(9);
    await ask(client);
    expect(fetches(client)).toHaveLength(1);
    documents.serve(client.id, (req, res) => res.writeHead(req.headers['if-none-match'] === '"one"' ? 304 : 500).end());
    minutes(2);
    expect((await ask(client)).status).toBe(200);
    expect(fetches(client).map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"one"']);
  });

  test.each([
    ['max-age=1', 0.9, 1.1],
    ['no-store', 0.9, 1.1],
    [undefined, 4.9, 5.1],
    ['max-age=99999999', 1439, 1441],
  ])('with Cache-Control %j serves at least %d and at most %d minutes', async (control, before, after) => {
    const client = documents.publish(fresh(), {}, control === undefined ? {} : { 'cache-control': control });
    await ask(client);
    const { fresh_until, read_at } = service.deps.net.metadataDocuments.known(client.id) as { fresh_until: Date; read_at: Date };
    const lives = (fresh_until.getTime() - read_at.getTime()) / 60_000;
    expect(lives).toBeGreaterThan(before);
    expect(lives).toBeLessThan(after);
  });

  test('that is asked for by many at once is fetched once', async () => {
    const client = documents.publish(fresh());
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(client)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(fetches(client)).toHaveLength(1);
  });

  test('that fails is asked for again each time: failures are not remembered', async () => {
    const url = fresh();
    const client = { id: url, redirect_uris: ['https://client.example/cb'] } as TestClient;
    const refused = await ask(client);
    expect([refused.status, (await refused.text()).includes('document not found')]).toEqual([400, true]);
    documents.publish(url);
    expect((await ask(client)).status).toBe(200);
  });

  test('that changes in passing is followed: the row says what it says, and the person is not asked again', async () => {
    const client = documents.publish(fresh());
    await tokens(client);
    documents.publish(client.id, {
      redirect_uris: ['https://client.example/cb', 'https://client.example/other'],
      logo_uri: 'https://client.example/logo.png',
    });
    minutes(6);
    const answer = await ask(
      { ...client, redirect_uris: ['https://client.example/other'] },
      { resource: api.identifier, scope: 'openid read' },
    );
    expect([answer.status, answer.headers.get('location')?.startsWith('https://client.example/other?code=')]).toEqual([303, true]);
    expect((await rowOf(client))?.redirect_uris).toContain('https://client.example/other');
  });

  test.each([
    ['name', { client_name: 'Another Helper' }],
    ['host', { redirect_uris: ['https://client.example/cb', 'https://elsewhere.example/cb'] }],
    ['method', { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://client.example/jwks' }],
  ])('whose %s changes asks the person anew, who then has allowed no more than what is asked now', async (_what, members) => {
    const client = documents.publish(fresh());
    await tokens(client);
    expect((await ask(client)).status).toBe(303);
    documents.publish(client.id, members);
    minutes(6);
    expect(await (await ask(client)).text()).toContain('access your account?');
    await allowCode(browser, client, { scope: 'openid' });
    expect((await ask(client)).status).toBe(303);
    expect((await ask(client, { resource: api.identifier, scope: 'openid read' })).status).toBe(200);
  });

  test.each([
    ['404', 'document not found', (_req: unknown, res: { writeHead(status: number): { end(): void } }) => res.writeHead(404).end()],
    ['410', 'document not found', (_req: unknown, res: { writeHead(status: number): { end(): void } }) => res.writeHead(410).end()],
    ['of another client', 'client_id does not match', json({ client_id: 'https://client.example/other' })],
    ['without redirect URIs', 'document is refused', null],
  ] as const)('that is %s ends its client at once, until there is a good one again', async (_how, reason, answer) => {
    const client = documents.publish(fresh());
    const { body } = await tokens(client);
    documents.serve(client.id, (answer as never) ?? json(describing(client.id, { redirect_uris: [] })));
    expect((await ask(client)).status).toBe(303);
    minutes(6);
    const refused = await ask(client);
    expect([refused.status, (await refused.text()).includes(reason)]).toEqual([400, true]);
    expect((await refresh(client, body.refresh_token)).body.error).toBe('invalid_client');
    const userinfo = await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${body.access_token}` } });
    expect(userinfo.status).toBe(401);
    documents.publish(client.id);
    expect((await ask(client)).status).toBe(303);
    expect((await refresh(client, body.refresh_token)).status).toBe(200);
  });

  test('that can not be reached serves for an hour more, and no longer', async () => {
    const client = documents.publish(fresh());
    const { body } = await tokens(client);
    documents.serve(client.id, (_req, res) => res.writeHead(503).end());
    minutes(60);
    expect((await ask(client)).status).toBe(303);
    minutes(6);
    const refused = await ask(client);
    expect([refused.status, (await refused.text()).includes('answered with status 503')]).toEqual([400, true]);
    // What was given out stays: nothing is known to be wrong.
    expect((await refresh(client, body.refresh_token)).status).toBe(200);
  });

  test('is never fetched by the token endpoint, introspection or userinfo', async () => {
    const client = documents.publish(fresh());
    const { body } = await tokens(client);
    minutes(600);
    const before = documents.requests.length;
    expect((await refresh(client, body.refresh_token)).status).toBe(200);
    await oauthPost(service.url, '/oauth/revoke', client, { token: body.access_token });
    expect(documents.requests.length).toBe(before);
  });
});

describe('a client of a document', () => {
  test('that was disabled stays so, whatever its document says', async () => {
    const client = documents.publish(fresh());
    const { body } = await tokens(client);
    await service.deps.db.knex('clients').where({ id: client.id }).update({ status: 'disabled' });
    documents.publish(client.id, { client_name: 'Notes Helper 2' });
    minutes(6);
    const before = documents.requests.length;
    expect((await ask(client)).status).toBe(400);
    expect((await refresh(client, body.refresh_token)).body.error).toBe('invalid_client');
    expect(documents.requests.length).toBe(before);
  });

  test('that nobody uses any more is removed, and comes anew', async () => {
    const client = documents.publish(fresh());
    await tokens(client);
    await service.deps.db.knex('consents').where({ client_id: client.id }).delete();
    await service.deps.db.knex('refresh_tokens').where({ client_id: client.id }).delete();
    service.clock.advance(31 * 86_400_000);
    await unusedClientPass(service.deps);
    expect(await rowOf(client)).toBeUndefined();
    const user = await addUser(await service.context());
    browser = await signedIn(service, user);
    expect((await tokens(client)).status).toBe(200);
  });

  test('proves itself by a key where its document says so, and pushes its requests before anybody has allowed it', async () => {
    const key = await createClientKey('ES256');
    const client = documents.publish(fresh(), { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.jwk] } });
    const seconds = Math.floor(service.clock.now().getTime() / 1000);
    const assertion = () =>
      key.sign({ iss: client.id, sub: client.id, aud: service.url, jti: randomUUID(), iat: seconds, exp: seconds + 60 });
    const proof = async () => ({
      client_id: client.id,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await assertion(),
    });
    const { verifier, challenge: code_challenge } = pkcePair();
    const redirect_uri = client.redirect_uris[0] ?? '';
    const request = { response_type: 'code', redirect_uri, code_challenge, code_challenge_method: 'S256', scope: 'openid' };
    const pushed = await oauthPost(service.url, '/oauth/par', null, { ...request, ...(await proof()) });
    expect(pushed.status).toBe(201);
    expect(await rowOf(client)).toBeUndefined();
    const { code } = await allowCode(browser, client, { request_uri: pushed.body['request_uri'] as string });
    const fields = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier };
    expect((await oauthPost(service.url, '/oauth/token', { ...client, token_endpoint_auth_method: 'none' }, fields)).status).toBe(401);
    expect((await oauthPost(service.url, '/oauth/token', null, { ...fields, ...(await proof()) })).status).toBe(200);
  });

  test('is answered for the page that it pushes from, before anybody has allowed it; other pages read nothing', async () => {
    const client = documents.publish(fresh());
    const request = {
      client_id: client.id, response_type: 'code', redirect_uri: client.redirect_uris[0] ?? '', scope: 'openid',
      code_challenge: 'x'.repeat(43), code_challenge_method: 'S256',
    }; // prettier-ignore
    const from = async (origin: string, init: RequestInit) => {
      const { status, headers } = await fetch(`${service.url}/oauth/par`, { ...init, headers: { ...init.headers, origin } });
      return [status, headers.get('access-control-allow-origin'), headers.get('access-control-expose-headers')?.includes('DPoP-Nonce')];
    };
    const asked = { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST', 'access-control-request-headers': 'dpop' } };
    const sent = () => ({ method: 'POST', body: new URLSearchParams(request) });
    expect((await from('https://client.example', asked)).slice(0, 2)).toEqual([204, 'https://client.example']);
    expect(await from('https://client.example', sent())).toEqual([201, 'https://client.example', true]);
    expect(await from('https://other.example', sent())).toEqual([201, null, undefined]);
    await setEnvironment(service, { client_id_metadata_documents: 'off' });
    expect((await from('https://never.example', asked)).slice(0, 2)).toEqual([204, null]);
  });

  test.each([
    ['another name', { client_name: 'Your Bank' }, false],
    ['another logo', { logo_uri: 'https://client.example/bank.png' }, false],
    ['another place to send people to', { redirect_uris: ['https://other.example/cb'] }, false],
    ['other words', { client_uri: 'https://client.example/about' }, true],
    ['another path', { redirect_uris: ['https://client.example/callback'] }, true],
  ])('that somebody vouched for and that takes %s is verified: %o %s (attack 30.787)', async (_what, members, verified) => {
    const client = documents.publish(fresh());
    await allowCode(browser, client, { scope: 'openid' });
    await service.deps.db.knex('clients').where({ id: client.id }).update({ verified: true });
    service.deps.cache.clear();
    const after = documents.publish(client.id, members);
    minutes(6);
    expect((await (await ask(after)).text()).includes('Not verified')).toBe(!verified && !('logo_uri' in members));
    expect(await rowOf(client)).toMatchObject({ verified, verified_by_host: false });
    await setEnvironment(service, { client_id_metadata_documents: 'off' });
    expect((await ask(after)).status === 400).toBe(!verified);
  });

  test('that becomes somebody else while an administrator vouches for who it was is not vouched for (attack 71.1964)', async () => {
    const client = documents.publish(fresh());
    await tokens(client);
    const before = (await rowOf(client)) as ClientRow;
    minutes(10);
    documents.publish(client.id, { client_name: 'Your Bank' });
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%"clients"%'`;
    const asking = await transaction(await service.context(), async (tx) => {
      await verifyClient(tx, before);
      const answer = ask(client);
      await expect.poll(async () => (await service.deps.db.knex.raw(waiting)).rows.length, { timeout: 30_000 }).toBe(1);
      return { answer };
    });
    expect(await (await asking.answer).text()).toContain('Not verified');
    expect(await rowOf(client)).toMatchObject({ name: 'Your Bank', verified: false });
  });

  test('that somebody vouched for and that becomes somebody else is not let in once more where documents are off, and stays verified where its host is listed (attack 30.787)', async () => {
    const client = documents.publish(fresh());
    await allowCode(browser, client, { scope: 'openid' });
    await service.deps.db.knex('clients').where({ id: client.id }).update({ verified: true });
    await setEnvironment(service, { client_id_metadata_documents: 'off' });
    expect((await ask(client)).status).toBe(303);
    const after = documents.publish(client.id, { client_name: 'Your Bank' });
    minutes(6);
    expect((await ask(after)).status).toBe(400);
    await setEnvironment(service, { client_id_metadata_documents: 'allow_list', client_id_metadata_hosts: ['client.example'] });
    const listed = documents.publish(fresh());
    await allowCode(browser, listed, { scope: 'openid' });
    await service.deps.db.knex('clients').where({ id: listed.id }).update({ verified: true, verified_by_host: false });
    documents.publish(listed.id, { client_name: 'Your Bank' });
    minutes(6);
    expect(await (await ask(listed)).text()).not.toContain('Not verified');
    expect(await rowOf(listed)).toMatchObject({ verified: true, verified_by_host: true });
  });

  test('is refused with the reason, 401, where it pushes a request and has no good document', async () => {
    const { status, body } = await oauthPost(service.url, '/oauth/par', null, { client_id: fresh(), response_type: 'code' });
    expect([status, body.error, body['error_description']]).toEqual([
      401,
      'invalid_client',
      'the client can not be identified: document not found',
    ]);
  });

  test('is another one in another environment', async () => {
    const client = documents.publish(fresh());
    await tokens(client);
    expect(await service.deps.db.knex('clients').where({ id: client.id })).toHaveLength(1);
    await setEnvironment(service, { client_id_metadata_documents: 'off' });
    expect((await ask(client)).status).toBe(400);
  });
});
