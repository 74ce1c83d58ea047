// A client's security profile: what it fills in, what contradicts it, and that nothing later does.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { applied, problemsOf, plan } from '../support/configuration.js';
import { addClient, addGrant } from '../support/data.js';
import { Api, link, manage, managementToken, secondEnvironment, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';
import { createClientKey } from '../support/signed-jwt.js';

const service = sharedManagedService();
const redirect_uris = ['https://bank.example/cb'];
let jwks: { keys: object[] };
let environment: string;

const api = shared(() => manage(service.url));

beforeAll(async () => {
  jwks = { keys: [(await createClientKey('PS256')).jwk] };
  environment = (await service.context()).environment.id;
});

const create = (attributes: Document) => api.attempt('clients', { name: 'Bank', ...attributes });
const change = (id: string, attributes: Document) => api.update('clients', id, attributes);
const setAlgorithms = (signing_algorithms: string[]) => api.update('environments', environment, { signing_algorithms });
const attributesOf = ({ body }: { body: Document }) => body['data'].attributes as Document;
/** Where the errors with the code are, below `/data/attributes`; what the request didn't hold is named in `meta.field`. */
const placesOf = ({ status, body }: { status: number; body: Document }, code = 'profile_rule_unmet'): string[] => {
  expect(status).toBe(422);
  const errors = (body['errors'] as Document[]).filter((one) => one['code'] === code);
  return errors.map(({ source, meta }) => meta?.field ?? source.pointer.slice('/data/attributes/'.length));
};

const settled = {
  profile: 'fapi2',
  token_endpoint_auth_method: 'private_key_jwt',
  require_pkce: true,
  require_pushed_authorization_requests: true,
  dpop_bound_access_tokens: true,
  id_token_signed_response_alg: 'ES256',
};

describe('a client that gets the profile', () => {
  test('needs only its keys and its redirect URIs: the rest is filled in, with ES256 and a key for it, at once and once', async () => {
    expect(attributesOf(await api.get(`/environments/${environment}`))['signing_algorithms']).toEqual(['RS256']);
    const made = await Promise.all([1, 2, 3].map(() => create({ profile: 'fapi2', redirect_uris, jwks })));
    for (const answer of made) {
      expect(answer.status).toBe(201);
      expect(attributesOf(answer)).toMatchObject({ ...settled, secret_hint: null });
      expect(attributesOf(answer)).not.toHaveProperty('client_secret');
    }
    expect(attributesOf(await api.get(`/environments/${environment}`))['signing_algorithms']).toEqual(['RS256', 'ES256']);
    const keys = (await api.get('/signing_keys?filter[status]=primary')).body['data'] as Document[];
    expect(keys.map((key) => key['attributes'].algorithm as string).sort()).toEqual(['ES256', 'RS256']);
    const published = (await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as { keys: Document[] };
    expect(published.keys.map((key) => key['alg'])).toContain('ES256');
  });

  test('keeps what was chosen of what the profile allows', async () => {
    expect((await setAlgorithms(['RS256', 'ES256', 'EdDSA'])).status).toBe(200);
    const made = await create({ profile: 'fapi2', redirect_uris, jwks, id_token_signed_response_alg: 'EdDSA' });
    expect(attributesOf(made)).toMatchObject({ ...settled, id_token_signed_response_alg: 'EdDSA' });
    const unavailable = await create({ profile: 'fapi2', redirect_uris, jwks, id_token_signed_response_alg: 'PS256' });
    expect(placesOf(unavailable, 'signing_algorithm_unavailable')).toEqual(['id_token_signed_response_alg']);
  });

  test('and was there before: its algorithm and its switches are filled in, how it proves itself is not (attack 32.660)', async () => {
    const web = attributesOf(await create({ redirect_uris, jwks, token_endpoint_auth_method: 'private_key_jwt' }));
    expect(web['profile']).toBeNull();
    const id = (await create({ redirect_uris, jwks, token_endpoint_auth_method: 'private_key_jwt' })).body['data'].id as string;
    expect(attributesOf(await change(id, { profile: 'fapi2' }))).toMatchObject(settled);
    const secret = (await create({ redirect_uris })).body['data'].id as string;
    expect(placesOf(await change(secret, { profile: 'fapi2' }))).toEqual(['token_endpoint_auth_method', 'jwks']);
    expect(attributesOf(await api.get(`/clients/${secret}`))).toMatchObject({ profile: null, require_pkce: false });
    const native = (await create({ redirect_uris: ['com.bank.app:/cb'], application_type: 'native' })).body['data'].id as string;
    const moved = await change(native, { profile: 'fapi2', token_endpoint_auth_method: 'private_key_jwt', jwks });
    expect([placesOf(moved), moved.body['errors'][0].source.pointer]).toEqual([['redirect_uris'], '/data/attributes']);
  });

  test('while somebody takes away what it needs is told so: what was checked of an earlier version is checked again (attack 32.1120)', async () => {
    const id = (await create({ redirect_uris, jwks, token_endpoint_auth_method: 'private_key_jwt' })).body['data'].id as string;
    const { knex } = service.deps.db;
    const other = await knex.transaction();
    onTestFinished(async () => void (other.isCompleted() || (await other.rollback())));
    await other('clients')
      .where({ id })
      .update({ token_endpoint_auth_method: 'none', jwks: null, version: knex.raw('version + 1') });
    const changing = change(id, { profile: 'fapi2' });
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%"clients"%'`;
    await expect.poll(async () => (await knex.raw(waiting)).rows.length, { timeout: 30_000 }).toBe(1);
    await other.commit();
    expect(placesOf(await changing)).toEqual(['token_endpoint_auth_method', 'jwks']);
    expect(attributesOf(await api.get(`/clients/${id}`))).toMatchObject({ profile: null, token_endpoint_auth_method: 'none' });
  });

  test('with every setting that contradicts it is told of each, at its place (attack 32.660)', async () => {
    const rsa = (await createClientKey('RS256')).jwk;
    const answer = await create({
      profile: 'fapi2',
      token_endpoint_auth_method: 'client_secret_basic',
      redirect_uris: ['https://bank.example/cb', 'com.bank.app:/cb'],
      application_type: 'native',
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
      jwks: { keys: [rsa, jwks.keys[0]] },
      require_pkce: false,
      require_pushed_authorization_requests: false,
      dpop_bound_access_tokens: false,
      id_token_signed_response_alg: 'RS256',
      userinfo_signed_response_alg: 'RS256',
      authorization_signed_response_alg: 'RS256',
      introspection_signed_response_alg: 'RS256',
    });
    expect(placesOf(answer)).toEqual([
      'token_endpoint_auth_method',
      'require_pkce',
      'require_pushed_authorization_requests',
      'dpop_bound_access_tokens',
      'jwks/keys/0',
      'id_token_signed_response_alg',
      'userinfo_signed_response_alg',
      'authorization_signed_response_alg',
      'introspection_signed_response_alg',
      'redirect_uris/1',
      'grant_types/1',
    ]);
  });

  test('a profile that nobody knows is refused', async () =>
    expect((await create({ profile: 'fapi1', redirect_uris, jwks })).status).toBe(422));
});

describe('a client that has it', () => {
  let id: string;
  beforeAll(async () => {
    id = (await create({ profile: 'fapi2', redirect_uris, jwks })).body['data'].id as string;
  });

  test.each<[string, Document, string[]]>([
    ['a secret', { token_endpoint_auth_method: 'client_secret_post' }, ['token_endpoint_auth_method']],
    ['no key', { jwks: null }, ['jwks']],
    ['no PKCE', { require_pkce: false }, ['require_pkce']],
    ['plain requests', { require_pushed_authorization_requests: false }, ['require_pushed_authorization_requests']],
    ['bearer tokens', { dpop_bound_access_tokens: false }, ['dpop_bound_access_tokens']],
    ['RS256', { id_token_signed_response_alg: 'RS256', userinfo_signed_response_alg: 'RS256' }, ['id_token_signed_response_alg', 'userinfo_signed_response_alg']],
    ['a custom scheme', { redirect_uris: ['https://bank.example/cb', 'com.bank.app:/cb'] }, ['redirect_uris/1']],
    ['device codes', { grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'] }, ['grant_types/1']],
  ])('is not given %s by a later change (attack 32.661)', async (_name, attributes, places) => {
    const version = (await api.get(`/clients/${id}`)).text;
    expect(placesOf(await change(id, attributes))).toEqual(places);
    expect((await api.get(`/clients/${id}`)).text).toBe(version);
  }); // prettier-ignore

  test('takes any other change, and may give the profile back', async () => {
    expect((await change(id, { name: 'Bank two', id_token_lifetime: 120, introspection_signed_response_alg: 'ES256' })).status).toBe(200);
    const other = (await create({ profile: 'fapi2', redirect_uris, jwks })).body['data'].id as string;
    expect(attributesOf(await change(other, { profile: null, dpop_bound_access_tokens: false }))).toMatchObject({
      profile: null,
      require_pkce: true,
      dpop_bound_access_tokens: false,
    });
  });

  test('is given no federated credential (attack 32.673)', async () => {
    const issuer = await api.create('trusted_issuers', { name: 'Platform', issuer: 'https://platform.example' });
    const relationships = { client: link('client', id), trusted_issuer: link('trusted_issuer', issuer['id'] as string) };
    const data = { type: 'federated_credential', attributes: { claims: { sub: 'job' } }, relationships };
    const answer = await api.post('/federated_credentials', { data });
    expect([answer.status, answer.body['errors'][0]]).toMatchObject([
      422,
      { code: 'profile_rule_unmet', source: { pointer: '/data/relationships/client' } },
    ]);
  });

  test('is not given the profile while workloads prove it (attack 32.673)', async () => {
    const made = await create({ redirect_uris, jwks, token_endpoint_auth_method: 'private_key_jwt' });
    const client = made.body['data'].id as string;
    const issuer = await api.create('trusted_issuers', { name: 'Other platform', issuer: 'https://other.example' });
    const relationships = { client: link('client', client), trusted_issuer: link('trusted_issuer', issuer['id'] as string) };
    const data = { type: 'federated_credential', attributes: { claims: { sub: 'job' } }, relationships };
    const credential = (await api.post('/federated_credentials', { data })).body['data'].id as string;
    expect(placesOf(await change(client, { profile: 'fapi2' }))).toEqual(['profile']);
    expect((await api.request('DELETE', `/federated_credentials/${credential}`)).status).toBe(204);
    expect((await change(client, { profile: 'fapi2' })).status).toBe(200);
  });

  test('holds its algorithm at the environment (attack 32.661)', async () => {
    const answer = await setAlgorithms(['RS256', 'EdDSA']);
    expect([answer.status, answer.body['errors'][0].code]).toEqual([409, 'signing_algorithm_in_use']);
  });

  test('the database refuses what gets past the rules (attack 32.661)', async () => {
    const ctx = await service.context();
    for (const row of [
      { require_pkce: false },
      { dpop_bound_access_tokens: false },
      { require_pushed_authorization_requests: false },
      { id_token_signed_response_alg: 'RS256' },
      { introspection_signed_response_alg: 'RS256' },
      { token_endpoint_auth_method: 'none' },
    ])
      await expect(ctx.db.knex('clients').where({ id }).update(row)).rejects.toThrow('clients_fapi2');
    await expect(addClient(ctx, { profile: 'fapi2' })).rejects.toThrow('clients_fapi2');
  });
});

test('signed requests take keys, and are pushed', async () => {
  const answer = await create({ redirect_uris, require_signed_request_object: true });
  expect(placesOf(answer, 'jwks_required')).toEqual(['require_signed_request_object']);
  expect(placesOf(answer, 'pushed_requests_required')).toEqual(['require_signed_request_object']);
  const signing = await create({ redirect_uris, jwks, require_signed_request_object: true, require_pushed_authorization_requests: true });
  expect(signing.status).toBe(201);
  const id = signing.body['data'].id as string;
  expect(placesOf(await change(id, { require_pushed_authorization_requests: false }), 'pushed_requests_required')).toHaveLength(1);
});

test('http of a loopback address is a redirect URI only where private networks are allowed', async () => {
  const loopback = ['http://127.0.0.1:3001/cb'];
  const { allowPrivateNetwork } = service.deps.config;
  const config = service.deps.config as { allowPrivateNetwork: boolean };
  try {
    config.allowPrivateNetwork = true;
    expect((await create({ profile: 'fapi2', redirect_uris: loopback, jwks })).status).toBe(201);
    config.allowPrivateNetwork = false;
    expect(placesOf(await create({ profile: 'fapi2', redirect_uris: loopback, jwks }))).toEqual(['redirect_uris/0']);
  } finally {
    config.allowPrivateNetwork = allowPrivateNetwork;
  }
});

describe('registration', () => {
  const register = (path: string, method: string, body: Document, token?: string) =>
    fetch(service.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
  beforeAll(async () => {
    const data = { type: 'environment', id: environment, attributes: { dynamic_registration_enabled: true } };
    expect((await api.patch(`/environments/${environment}`, { data })).status).toBe(200);
  });

  test('a profile in it is ignored, and one that an administrator gave stays through its own updates (attack 32.662)', async () => {
    const metadata = { redirect_uris, jwks, token_endpoint_auth_method: 'private_key_jwt' };
    const answer = await register('/oauth/register', 'POST', { ...metadata, profile: 'fapi2', require_signed_request_object: true });
    const own = (await answer.json()) as Document;
    const id = own['client_id'] as string;
    expect(answer.status).toBe(201);
    const stored = attributesOf(await api.get(`/clients/${id}`));
    expect([stored['profile'], stored['require_signed_request_object'], stored['require_pkce']]).toEqual([null, false, false]);

    expect((await change(id, { profile: 'fapi2' })).status).toBe(200);
    const put = (changes: Document) =>
      register(`/oauth/register/${id}`, 'PUT', { client_id: id, ...metadata, ...changes }, own['registration_access_token'] as string);
    const kept = await put({ client_name: 'Another', profile: null });
    expect([kept.status, await kept.json()]).toMatchObject([
      200,
      {
        client_name: 'Another',
        id_token_signed_response_alg: 'ES256',
        dpop_bound_access_tokens: true,
        require_pushed_authorization_requests: true,
      },
    ]);
    expect(attributesOf(await api.get(`/clients/${id}`))).toMatchObject(settled);
    for (const changes of [
      { token_endpoint_auth_method: 'client_secret_basic' },
      { userinfo_signed_response_alg: 'RS256' },
      { jwks: { keys: [(await createClientKey('RS256')).jwk] } },
    ]) {
      const refused = await put(changes);
      expect([refused.status, ((await refused.json()) as Document)['error']]).toEqual([400, 'invalid_client_metadata']);
    }
    expect(attributesOf(await api.get(`/clients/${id}`))).toMatchObject(settled);
  });
});

test('whoever may write clients needs no other permission for the key, and an event tells of it', async () => {
  const staging = await secondEnvironment(api);
  const webhook = { name: 'Keys', url: 'https://hooks.example/keys', events: ['signing_key.generated'] };
  expect((await staging.api.attempt('webhooks', webhook)).status).toBe(201);
  const machine = await addClient(await service.contextOf(staging.id), {
    grant_types: ['client_credentials'],
    application_type: 'machine',
  });
  const { knex } = service.deps.db;
  const resource = await knex('api_resources').where({ environment_id: staging.id, is_system: true }).first<ApiResourceRow>();
  await addGrant(await service.contextOf(staging.id), machine, resource as ApiResourceRow, ['clients:read', 'clients:write']);
  const writer = new Api(service.url, await managementToken(service.url, machine, { host: staging.host }), staging.host);
  const data = { type: 'client', attributes: { name: 'Bank', profile: 'fapi2', redirect_uris, jwks, first_party: false } };
  const made = await writer.post('/clients', { data });
  expect([made.status, attributesOf(made)]).toMatchObject([201, settled]);
  const told = await knex('webhook_deliveries').where({ environment_id: staging.id }).select('payload');
  expect(told.map((row: { payload: string }) => (JSON.parse(row.payload) as Document)['data'])).toMatchObject([
    { algorithm: 'ES256', status: 'primary' },
  ]);
});

test('a document of the whole configuration makes such a client too, with its key, and finds nothing to do again', async () => {
  const { api: theirs } = await secondEnvironment(api, 'documented');
  const bank = { client_id: 'bank', name: 'Bank', profile: 'fapi2', redirect_uris, jwks };
  const document = { version: 1, clients: [bank] };
  const { changes } = await applied(theirs, document);
  expect(changes).toMatchObject([{ action: 'create', kind: 'client', key: 'bank' }]);
  expect(attributesOf(await theirs.get('/clients/bank'))).toMatchObject(settled);
  expect((await applied(theirs, document))['changes']).toEqual([]);
  const contradicting = await plan(theirs, { version: 1, clients: [{ ...bank, require_pkce: false }] });
  expect([contradicting.status, problemsOf(contradicting)]).toEqual([422, ['profile_rule_unmet /meta/document/clients/0/require_pkce']]);
});
