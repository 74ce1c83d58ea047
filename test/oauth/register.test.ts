// Dynamic client registration (RFC 7591) and its management (RFC 7592).
import { beforeAll, describe, expect, test } from 'vitest';
import { findClient, updateClient } from '../../src/db/tables/clients.js';
import { insertWebhook } from '../../src/db/tables/webhooks.js';
import { addClient, addGrant, addResource, addUser } from '../support/data.js';
import { authorizeGet } from '../support/authorize.js';
import { oauthPost, tokenRequest } from '../support/oauth.js';
import { startRelyingParty } from '../support/relying-party.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { createClientKey } from '../support/signed-jwt.js';

const service = sharedService(() => startTestService({ ALLOW_PRIVATE_NETWORK: 'off' }));
const redirect_uris = ['https://app.example/cb'];

beforeAll(async () => {
  await service.deps.db.knex('environments').update({ dynamic_registration_enabled: true });
  service.deps.cache.clear();
});

type Answer = { status: number; headers: Headers; body: Record<string, string> & Record<string, unknown> };

async function send(method: string, address: string, body?: unknown, token?: string): Promise<Answer> {
  const response = await fetch(new URL(address, service.url), {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: (text === '' ? {} : JSON.parse(text)) as Answer['body'] };
}
const register = (metadata: unknown) => send('POST', '/oauth/register', metadata);

async function expectRefused(metadata: unknown, error = 'invalid_client_metadata'): Promise<void> {
  const before = await service.deps.db.knex('clients').count('* as count');
  const { status, headers, body } = await register(metadata);
  expect([status, body['error'], headers.get('cache-control')]).toEqual([400, error, 'no-store']);
  expect(body['error_description']).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  expect(await service.deps.db.knex('clients').count('* as count')).toEqual(before);
}

describe('registering', () => {
  test('answers 201 with the secret that never expires, and asks people for consent', async () => {
    const { status, headers, body } = await register({ redirect_uris, client_name: 'Acme', scope: 'openid email', unheard_of: 1 });
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
    expect(body).toMatchObject({
      client_name: 'Acme',
      redirect_uris,
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      client_secret_expires_at: 0,
      scope: 'openid email',
      application_type: 'web',
      registration_client_uri: `${service.url}/oauth/register/${body['client_id']}`,
    });
    expect(body['client_secret']).toMatch(/^cs_[\w-]{43}$/);
    expect(body).not.toHaveProperty('unheard_of');
    const user = await addUser(await service.context());
    const browser = await signedIn(service, user);
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: String(body['client_id']),
      redirect_uri: 'https://app.example/cb',
      scope: 'openid',
    });
    expect(await (await authorizeGet(browser, query.toString())).text()).toContain('id="consent"');
    const tokens = { id: String(body['client_id']), client_secret: String(body['client_secret']) };
    expect(
      (await oauthPost(service.url, '/oauth/token', tokens, { grant_type: 'authorization_code', code: 'x', redirect_uri: 'y' })).body.error,
    ).toBe('invalid_grant');
  });

  test('emits client.registered, without a secret', async () => {
    const ctx = await service.context();
    const at = ctx.clock.now();
    const id = '0190aaaa-0000-7000-8000-000000000001';
    await insertWebhook(ctx.scope, {
      id,
      name: 'w',
      url: 'https://hooks.example/x',
      events: ['client.registered', 'client.updated'],
      secret_sealed: Buffer.from('x'),
      secret_hint: 'x',
      created_at: at,
      updated_at: at,
    } as never);
    const { body } = await register({ redirect_uris, client_name: 'Told' });
    const rows = (await service.deps.db.knex('webhook_deliveries').where({ webhook_id: id })) as { event_type: string; payload: string }[];
    expect(rows.map((row) => row.event_type)).toEqual(['client.registered']);
    expect(JSON.parse(rows[0]?.payload ?? '{}')).toMatchObject({
      event: 'client.registered',
      data: { client_id: body['client_id'], name: 'Told', first_party: false },
    });
    expect(rows[0]?.payload).not.toContain(String(body['client_secret']));
    await service.deps.db.knex('webhooks').where({ id }).delete();
  });

  test('a public client gets no secret, has to use PKCE, and its origins may call the token endpoint', async () => {
    const { body } = await register({ redirect_uris, token_endpoint_auth_method: 'none' });
    expect(body).not.toHaveProperty('client_secret');
    const [row] = await service.deps.db.knex('clients').where({ id: body['client_id'] });
    expect(row).toMatchObject({ require_pkce: true, allowed_origins: ['https://app.example'], application_type: 'spa' });
  });

  test('a native client may use a private scheme and loopback', async () => {
    const uris = ['com.example.app:/cb', 'http://127.0.0.1/cb'];
    expect((await register({ redirect_uris: uris, application_type: 'native', token_endpoint_auth_method: 'none' })).status).toBe(201);
    await expectRefused({ redirect_uris: uris, application_type: 'web' }, 'invalid_redirect_uri');
  });

  test('a name is taken from the address when none is given', async () =>
    expect((await register({ redirect_uris })).body['client_name']).toBe('app.example'));

  test('keys by value', async () => {
    const { jwk } = await createClientKey('ES256');
    const { status, body } = await register({
      redirect_uris,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [{ ...jwk, x5c: ['MIIB'] }] },
    });
    expect([status, body['client_secret']]).toEqual([201, undefined]);
  });
});

describe('refused', () => {
  test('what is not an object of metadata', async () => {
    expect((await send('POST', '/oauth/register')).status).toBe(400);
    for (const body of ['[]', '{', '"x"', '{"redirect_uris":"https://app.example/cb"}', '{"redirect_uris":[1]}']) {
      const answer = await register(body);
      expect([answer.status, typeof answer.body['error']]).toEqual([400, 'string']);
    }
  });

  test.each<[string, Record<string, unknown>]>([
    ['an unknown grant', { grant_types: ['password'] }],
    ['the implicit response type', { response_types: ['id_token'] }],
    ['an unknown method', { token_endpoint_auth_method: 'client_secret_jwt' }],
    ['refresh alone', { grant_types: ['refresh_token'] }],
    ['client_credentials without proof', { grant_types: ['authorization_code', 'client_credentials'], token_endpoint_auth_method: 'none' }],
    ['another ID token algorithm', { id_token_signed_response_alg: 'none' }],
    ['unsigned request objects', { request_object_signing_alg: 'none' }],
    ['pairwise subjects', { subject_type: 'pairwise' }],
    ['a scope that is none', { scope: 'a"b' }],
    ['private_key_jwt without keys', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['keys twice', { jwks: { keys: [{ kty: 'RSA' }] }, jwks_uri: 'https://app.example/keys' }],
    ['a private key', { jwks: { keys: [{ kty: 'RSA', d: 'x' }] } }],
    ['a symmetric key', { jwks: { keys: [{ kty: 'oct', k: 'x' }] } }],
    ['a name without end', { client_name: 'x'.repeat(300) }],
    ['a private scheme after logout, for a web application', { post_logout_redirect_uris: ['com.example.app:/bye'] }],
    ['a bad address after logout', { post_logout_redirect_uris: ['javascript:alert(1)'] }],
  ])('%s', async (_name, metadata) => expectRefused({ redirect_uris, ...metadata }));

  test('no redirect URI', async () => {
    await expectRefused({}, 'invalid_redirect_uri');
    await expectRefused({ redirect_uris: [] }, 'invalid_redirect_uri');
  });

  test('addresses inside the network, or of other schemes, are refused and never asked (attack 9.111)', async () => {
    const canary = await startRelyingParty();
    const addresses = [
      `${canary.origin}/x`,
      'https://127.0.0.1/x',
      'https://[::1]/x',
      'https://localhost/x',
      'https://169.254.169.254/x',
      'https://10.0.0.1/x',
      'javascript:alert(1)',
    ];
    const names = [
      'jwks_uri',
      'logo_uri',
      'sector_identifier_uri',
      'backchannel_logout_uri',
      'client_uri',
      'policy_uri',
      'tos_uri',
      'initiate_login_uri',
    ];
    for (const name of names) {
      for (const address of addresses) await expectRefused({ redirect_uris, [name]: address });
    }
    expect(canary.arrived).toEqual([]);
    await canary.close();
    for (const name of ['initiate_login_uri', 'client_uri', 'backchannel_logout_uri']) {
      const { body } = await register({ redirect_uris, [name]: 'https://app.example:25/x' });
      expect(body['error_description']).toMatch(/the port of another/);
    }
  });

  test('off by default: 404 for every method', async () => {
    await service.deps.db.knex('environments').update({ dynamic_registration_enabled: false });
    service.deps.cache.clear();
    expect([(await register({ redirect_uris })).status, (await send('GET', '/oauth/register/x')).status]).toEqual([404, 404]);
    await service.deps.db.knex('environments').update({ dynamic_registration_enabled: true });
    service.deps.cache.clear();
  });
});

describe('managing', () => {
  test('read, replace, delete with the registration access token; 204, and everything is gone', async () => {
    const { body } = await register({ redirect_uris, client_name: 'Before', contacts: ['a@app.example'] });
    const [address, token] = [String(body['registration_client_uri']), String(body['registration_access_token'])];
    const read = await send('GET', address, undefined, token);
    expect([read.status, read.body['client_name'], read.body['client_secret']]).toEqual([200, 'Before', undefined]);
    const replaced = await send(
      'PUT',
      address,
      { client_id: body['client_id'], redirect_uris: ['https://app.example/new'], client_name: 'After' },
      token,
    );
    expect([replaced.status, replaced.body]).toMatchObject([200, { client_name: 'After', redirect_uris: ['https://app.example/new'] }]);
    expect(replaced.body).not.toHaveProperty('contacts');
    expect((await send('DELETE', address, undefined, token)).status).toBe(204);
    expect((await send('GET', address, undefined, token)).status).toBe(401);
    const asClient = { id: String(body['client_id']), client_secret: String(body['client_secret']) };
    expect((await oauthPost(service.url, '/oauth/introspect', asClient, { token: 'x' })).status).toBe(401);
  });

  test('introspection of others is never for a client that registered itself, and nothing it sends changes that (attack 6.256)', async () => {
    const ctx = await service.context();
    const stored = async (id: string) => (await findClient(ctx.scope, id))?.introspection_allowed;
    const { body } = await register({ redirect_uris: ['https://app.example/cb'], introspection_allowed: true });
    const id = body['client_id'] as string;
    expect([await stored(id), 'introspection_allowed' in body]).toEqual([false, false]);
    const replacement = { client_id: id, redirect_uris: ['https://app.example/cb'], introspection_allowed: true };
    const replaced = await send('PUT', body['registration_client_uri'] as string, replacement, body['registration_access_token']);
    expect([replaced.status, await stored(id)]).toEqual([200, false]);
    const machine = await addClient(ctx, { application_type: 'machine', grant_types: ['client_credentials'] });
    const resource = await addResource(ctx);
    await addGrant(ctx, machine, resource);
    const fields = { grant_type: 'client_credentials', resource: resource.identifier };
    const token = (await tokenRequest(service.url, machine, fields)).body.access_token;
    const self = { id, client_secret: body['client_secret'] as string };
    expect((await oauthPost(service.url, '/oauth/introspect', self, { token })).body).toEqual({ active: false });
    expect((await oauthPost(service.url, '/oauth/introspect', machine, { token })).body['active']).toBe(true);
    // The database holds it too, whatever writes there.
    await expect(updateClient(ctx.scope, id, { introspection_allowed: true })).rejects.toThrow('clients_introspection');
  });

  test("no token, another client's token, an unknown client: 401", async () => {
    const [one, two] = [(await register({ redirect_uris })).body, (await register({ redirect_uris })).body];
    const address = String(one['registration_client_uri']);
    for (const token of [undefined, 'x', String(two['registration_access_token']), String(one['client_secret'])]) {
      for (const method of ['GET', 'DELETE']) expect((await send(method, address, undefined, token)).status).toBe(401);
    }
    expect((await send('GET', '/oauth/register/nobody', undefined, String(one['registration_access_token']))).status).toBe(401);
  });

  test('a replacement names its client and nothing that is ours; a method with a secret brings one', async () => {
    const { body } = await register({ redirect_uris, token_endpoint_auth_method: 'none' });
    const [address, token] = [String(body['registration_client_uri']), String(body['registration_access_token'])];
    const put = (changes: Record<string, unknown>) =>
      send('PUT', address, { client_id: body['client_id'], redirect_uris, ...changes }, token);
    for (const changes of [
      { client_id: 'another' },
      { registration_access_token: token },
      { client_secret: 'mine' },
      { grant_types: ['password'] },
    ]) {
      expect((await put(changes)).status).toBe(400);
    }
    const confidential = await put({ token_endpoint_auth_method: 'client_secret_post' });
    expect(confidential.body).toMatchObject({ client_secret_expires_at: 0, client_secret: expect.stringMatching(/^cs_/) as string });
    const kept = await put({ token_endpoint_auth_method: 'client_secret_basic', client_secret: confidential.body['client_secret'] });
    expect([kept.status, kept.body['client_secret']]).toEqual([200, undefined]);
  });

  test('other methods: 405 with Allow', async () => {
    const { body } = await register({ redirect_uris });
    const response = await fetch(`${service.url}/oauth/register/${body['client_id']}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${body['registration_access_token']}` },
    });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, PUT, DELETE']);
  });
});
