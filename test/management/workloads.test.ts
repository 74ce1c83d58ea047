// Trusted issuers and federated credentials at the Management API and the dashboard: what they may say, and who may write them.
import { describe, expect, test } from 'vitest';
import { link, manage, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';
import { createClientKey } from '../support/signed-jwt.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));
const issuer = shared(() => api.create('trusted_issuers', { name: 'Platform', issuer: 'https://platform.example' }));
const client = shared(() => newClient());

const newClient = (more: Document = {}) =>
  api.create('clients', { name: 'Job', application_type: 'machine', token_endpoint_auth_method: 'private_key_jwt', ...more });
const issuerBody = (attributes: Document) => ({ data: { type: 'trusted_issuer', attributes: { name: 'Other', ...attributes } } });
const credentialBody = (attributes: Document, who: Document = client) => ({
  data: {
    type: 'federated_credential',
    attributes,
    relationships: { client: link('client', who['id']), trusted_issuer: link('trusted_issuer', issuer['id']) },
  },
});
const refusalOf = (answer: { status: number; body: Document }) => [answer.status, answer.body['errors']?.[0]?.source?.pointer];

describe('trusted issuers', () => {
  test('a client is saved by private_key_jwt without keys', () =>
    expect(client['attributes']).toMatchObject({ token_endpoint_auth_method: 'private_key_jwt', jwks: null, jwks_uri: null }));

  test('are made, changed and removed, one of an address', async () => {
    expect(issuer['attributes']).toMatchObject({ issuer: 'https://platform.example', status: 'enabled', jwks: null, last_error: null });
    const twice = await api.post('/trusted_issuers', issuerBody({ issuer: 'https://platform.example' }));
    expect(refusalOf(twice)).toEqual([409, '/data/attributes/issuer']);
    const other = await api.create('trusted_issuers', { name: 'Gone', issuer: 'https://gone.example' });
    const id = other['id'] as string;
    const { jwk } = await createClientKey('ES256');
    const changed = await api.update('trusted_issuers', id, { jwks: { keys: [jwk] }, status: 'disabled' }); // prettier-ignore
    expect(changed.body['data'].attributes).toMatchObject({ status: 'disabled', jwks: { keys: [jwk] } });
    expect((await api.delete(`/trusted_issuers/${id}`)).status).toBe(204);
  });

  test('an address that leads nowhere good, this service itself, keys twice: 422', async () => {
    for (const url of ['http://platform.example', 'https://platform.example/#x', service.url])
      expect(refusalOf(await api.post('/trusted_issuers', issuerBody({ issuer: url })))).toEqual([422, '/data/attributes/issuer']);
    const { jwk } = await createClientKey('ES256');
    const both = { issuer: 'https://both.example', jwks: { keys: [jwk] }, jwks_uri: 'https://both.example/jwks' };
    expect(refusalOf(await api.post('/trusted_issuers', issuerBody(both)))).toEqual([422, '/data/attributes/jwks_uri']);
  });
});

describe('federated credentials', () => {
  test('are made with our issuer as the audience', async () => {
    const claims = {
      sub: { prefix: 'repo:octo-org/octo-repo:' },
      ref: ['refs/heads/main', 'refs/heads/next'],
      'kubernetes.io.namespace': 'orders',
    };
    const made = await api.post('/federated_credentials', credentialBody({ claims }));
    expect(made.body['data'].attributes).toMatchObject({ claims, audience: service.url });
    const id = made.body['data'].id as string;
    const listed = await api.get(`/clients/${String(client['id'])}/federated_credentials`);
    expect(listed.body['data'].map((one: Document) => one['id'])).toContain(id);
    const change = (attributes: Document) => api.update('federated_credentials', id, attributes);
    expect((await change({ audience: 'us' })).body['data'].attributes.audience).toBe('us');
    expect((await change({ claims: { ref: 'x' } })).status).toBe(422);
    expect((await api.delete(`/federated_credentials/${id}`)).status).toBe(204);
  });

  test.each([
    [{ environment: 'prod' }, '/data/attributes/claims'],
    [{}, '/data/attributes/claims'],
    [{ sub: 'repo:octo-org/*' }, '/data/attributes/claims/sub'],
    [{ sub: { prefix: 'repo:octo-org' } }, '/data/attributes/claims/sub'],
    [{ sub: { prefix: ':' } }, '/data/attributes/claims/sub'],
    [{ sub: { prefix: 'repo:' } }, '/data/attributes/claims/sub'],
    [{ sub: { prefix: 'https://' } }, '/data/attributes/claims/sub'],
    [{ sub: { prefix: 'system:serviceaccount:' } }, '/data/attributes/claims/sub'],
    [{ sub: { prefix: 'arn:aws:' } }, '/data/attributes/claims/sub'],
    [{ sub: { prefix: 'arn:aws:iam::' } }, '/data/attributes/claims/sub'],
    [{ sub: 'a', ref: ['x', 'refs/*'] }, '/data/attributes/claims/ref'],
  ])('%j is too wide: 422 (attack 29.762)', async (claims, pointer) => {
    expect(refusalOf(await api.post('/federated_credentials', credentialBody({ claims })))).toEqual([422, pointer]);
  });

  test('only a client that authenticates by private_key_jwt has one', async () => {
    const secret = await newClient({ token_endpoint_auth_method: 'client_secret_basic' });
    const answer = await api.post('/federated_credentials', credentialBody({ claims: { sub: 'a' } }, secret));
    expect(refusalOf(answer)).toEqual([422, '/data/relationships/client']);
  });

  test('no credential reaches beyond its maker, nor do the keys that it rests on (attack 29.619)', async () => {
    const management = (await api.get('/api_resources?filter[search]=Management')).body['data'][0] as Document;
    const strong = await newClient();
    const grant = { client: link('client', strong['id']), api_resource: link('api_resource', management['id']) };
    await api.create('client_grants', { scopes: ['users:write'] }, grant);
    const narrow = await manage(service.url, 'federated_credentials:write trusted_issuers:write');
    const refused = await narrow.post('/federated_credentials', credentialBody({ claims: { sub: 'mine' } }, strong));
    expect([refused.status, refused.body['errors'][0].code, refused.body['errors'][0].meta.required]).toEqual([
      403,
      'scope_escalation',
      ['users:write'],
    ]);
    expect((await narrow.post('/federated_credentials', credentialBody({ claims: { sub: 'mine' } }))).status).toBe(201);
    expect((await api.post('/federated_credentials', credentialBody({ claims: { sub: 'theirs' } }, strong))).status).toBe(201);
    const id = issuer['id'] as string;
    const moved = { data: { type: 'trusted_issuer', id, attributes: { jwks_uri: 'https://evil.example/jwks' } } };
    expect((await narrow.patch(`/trusted_issuers/${id}`, moved)).status).toBe(403);
    expect((await narrow.delete(`/trusted_issuers/${id}`)).status).toBe(403);
  });

  test('a prefix that names a part of a platform will do', async () => {
    for (const prefix of ['repo:octo-org/', 'system:serviceaccount:payments:', 'arn:aws:iam::123456789012:role/']) {
      const made = await api.post('/federated_credentials', credentialBody({ audience: 'parts', claims: { sub: { prefix } } }));
      expect([prefix, made.status]).toEqual([prefix, 201]);
    }
  });

  test('no credential locks out the workloads of a client beyond its maker (attack 22.760)', async () => {
    const management = (await api.get('/api_resources?filter[search]=Management')).body['data'][0] as Document;
    const strong = await newClient();
    const grant = { client: link('client', strong['id']), api_resource: link('api_resource', management['id']) };
    await api.create('client_grants', { scopes: ['users:write'] }, grant);
    const claims = { sub: { prefix: 'repo:octo-org/deploy:' }, ref: ['refs/heads/main', 'refs/heads/next'] };
    const guarded = await api.post('/federated_credentials', credentialBody({ audience: 'ops', claims }, strong));
    expect(guarded.status).toBe(201);
    const narrow = await manage(service.url, 'federated_credentials:read federated_credentials:write');
    const own = (said: Document, audience = 'ops') => narrow.post('/federated_credentials', credentialBody({ audience, claims: said }));
    for (const said of [
      { sub: 'repo:octo-org/deploy:ref:refs/heads/main' },
      { sub: { prefix: 'repo:octo-org/' }, ref: 'refs/heads/main' },
      { sub: { prefix: 'repo:octo-org/deploy:ref:' } },
      { repository_id: '74' },
    ]) {
      const refused = await own(said);
      expect([said, refused.status, refused.body['errors']?.[0].meta.required]).toEqual([said, 403, ['users:write']]);
    }
    for (const said of [
      { sub: 'repo:octo-org/docs:ref:refs/heads/main' },
      { sub: { prefix: 'repo:octo-org/docs:' } },
      { sub: { prefix: 'repo:octo-org/' }, ref: 'refs/heads/other' },
    ])
      expect([said, (await own(said)).status]).toEqual([said, 201]);
    const elsewhere = await own({ sub: { prefix: 'repo:octo-org/' } }, 'elsewhere');
    expect(elsewhere.status).toBe(201);
    const id = elsewhere.body['data'].id as string;
    const moved = { data: { type: 'federated_credential', id, attributes: { audience: 'ops' } } };
    expect((await narrow.patch(`/federated_credentials/${id}`, moved)).status).toBe(403);
  });
});
