// Clients that prove themselves by a key (private_key_jwt) through the Management API.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { link, manage } from '../support/management.js';
import { oauthPost } from '../support/oauth.js';
import { shared, sharedManagedService } from '../support/shared-service.js';
import { createClientKey } from '../support/signed-jwt.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

const machine = { name: 'Signer', application_type: 'machine', token_endpoint_auth_method: 'private_key_jwt' };

test('a client with a key has no secret, and gets a token by its assertion', async () => {
  const key = await createClientKey('ES256');
  const resource = await api.create('api_resources', { identifier: 'https://keys.example/api', name: 'Keys' });
  await api.create('permissions', { name: 'keys:read' }, { api_resource: link('api_resource', resource['id']) });
  const client = await api.create('clients', { ...machine, jwks: { keys: [key.jwk] } });
  expect(client['attributes']).not.toHaveProperty('client_secret');
  expect(client['attributes'].jwks).toEqual({ keys: [key.jwk] });
  const relationships = { client: link('client', client['id']), api_resource: link('api_resource', resource['id']) };
  await api.create('client_grants', { scopes: ['keys:read'] }, relationships);
  const now = Math.floor(service.clock.now().getTime() / 1000);
  const id = String(client['id']);
  const answer = await oauthPost(service.url, '/oauth/token', null, {
    grant_type: 'client_credentials',
    resource: 'https://keys.example/api',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await key.sign({ iss: id, sub: id, aud: service.url, jti: randomUUID(), exp: now + 60 }),
  });
  expect([answer.status, answer.body['scope']]).toEqual([200, 'keys:read']);
});

test('refused: a private key, a symmetric one, another exponent, too many, keys twice, an address that leads nowhere (attack 9.259)', async () => {
  const { jwk } = await createClientKey('RS256');
  const wrong = [
    { jwks: { keys: [] } },
    { jwks: { keys: [{ ...jwk, d: 'x' }] } },
    { jwks: { keys: [{ kty: 'oct', k: 'x' }] } },
    { jwks: { keys: [{ ...jwk, e: 'Aw' }] } },
    { jwks: { keys: Array.from({ length: 11 }, () => jwk) } },
    { jwks: { keys: [jwk] }, jwks_uri: 'https://keys.example/jwks' },
    { jwks_uri: 'ftp://keys.example/jwks' },
  ];
  for (const attributes of wrong) {
    const response = await api.attempt('clients', { ...machine, ...attributes });
    expect(response.status).toBe(422);
  }
});

test('a client that goes over to a key loses its secret', async () => {
  const client = await api.create('clients', { name: 'Changing', application_type: 'machine' });
  const attributes = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://keys.example/jwks' };
  const response = await api.update('clients', client['id'], attributes);
  expect(response.status).toBe(200);
  const row = (await service.deps.db.knex('clients').where({ id: client['id'] }).first()) as Record<string, unknown>;
  expect([row['secret_digest'], row['jwks_uri']]).toEqual([null, 'https://keys.example/jwks']);
});

test('without a key it is taken: a client that proves itself by tokens of a trusted issuer alone (RFC 7523)', async () => {
  const { id } = await api.create('clients', machine);
  expect((await api.get(`/clients/${id as string}`)).body['data']['attributes']).toMatchObject({ jwks: null, jwks_uri: null });
});
