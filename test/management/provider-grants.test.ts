// Which clients may have people's tokens at providers, and what they have, by the Management API.
import { expect, test } from 'vitest';
import { linkIdentity } from '../../src/domain/connections/identities.js';
import { addConnection } from '../support/connections.js';
import { addClient, addUser } from '../support/data.js';
import { link, manage } from '../support/management.js';
import { addProviderToken, tokensOf } from '../support/provider-tokens.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);

const document = (client: string, connection: string, attributes: object = { scopes: ['calendar'] }) => ({
  data: {
    type: 'provider_grant',
    attributes,
    relationships: { client: link('client', client), connection: link('connection', connection) },
  },
});

test('a provider grant is for a confidential client, and a connection that keeps tokens, once (specification 21.1.1)', async () => {
  const api = await manage(service.url);
  const connection = await addConnection(ctx, { token_storage: true });
  const client = await addClient(ctx);
  const post = async (body: object) => {
    const { status, body: answer } = await api.post('/provider_grants', body);
    return [status, answer['errors']?.[0]?.code];
  };
  const open = await addClient(ctx, { token_endpoint_auth_method: 'none' });
  expect(await post(document(open.id, connection.id))).toEqual([422, 'public_client']);
  expect(await post(document(client.id, (await addConnection(ctx)).id))).toEqual([422, 'invalid_value']);
  expect((await post(document(client.id, connection.id, {})))[0]).toBe(422);
  expect((await post(document(client.id, connection.id, { scopes: ['a b'] })))[0]).toBe(422);
  expect(await post(document(client.id, connection.id))).toEqual([201, undefined]);
  expect(await post(document(client.id, connection.id))).toEqual([409, 'already_exists']);
  const listed = await api.get(`/clients/${client.id}/provider_grants`);
  expect(listed.body['data']).toMatchObject([{ attributes: { scopes: ['calendar'], status: 'enabled' } }]);
  const path = `/provider_grants/${listed.body['data'][0].id}`;
  const change = { data: { type: 'provider_grant', id: listed.body['data'][0].id, attributes: { status: 'disabled' } } };
  expect((await api.patch(path, change)).body['data'].attributes.status).toBe('disabled');
  expect((await api.delete(path)).status).toBe(204);
});

test('a connection that has provider grants is deleted by who may write people too (attack 63.1868, specification 13.2.26)', async () => {
  const [api, narrow] = [await manage(service.url), await manage(service.url, 'connections:read connections:write')];
  const asking = { token_storage: true, account_linking: 'ask', allow_registration: false } as const;
  const connection = await addConnection(ctx, asking);
  expect((await api.post('/provider_grants', document((await addClient(ctx)).id, connection.id))).status).toBe(201);
  const refused = await narrow.delete(`/connections/${connection.id}`);
  expect([refused.status, refused.body['errors'][0].code]).toEqual([403, 'scope_escalation']);
  expect((await narrow.delete(`/connections/${(await addConnection(ctx, asking)).id}`)).status).toBe(204);
  expect((await api.delete(`/connections/${connection.id}`)).status).toBe(204);
});

test.each(['saml', 'apple'])('a connection of %s keeps no tokens', async (strategy) => {
  const api = await manage(service.url);
  const saml = { idp_entity_id: 'https://idp.example', idp_sso_url: 'https://idp.example/sso', idp_certificates: [] };
  const own = strategy === 'saml' ? { options: saml } : { provider_client_id: 'x', provider_client_secret: 'y', options: {} };
  const attributes = { name: `keeps-${strategy}`, display_name: 'Keeps', strategy, token_storage: true, ...own };
  const { status, body } = await api.attempt('connections', attributes);
  expect([status, body['errors'].map((one: { source: object }) => one.source)]).toEqual([
    422,
    expect.arrayContaining([{ pointer: '/data/attributes/token_storage' }]),
  ]);
});

test('provider tokens are shown without their value, and revoked; once more changes nothing (specification 21.1.3)', async () => {
  const api = await manage(service.url);
  const connection = await addConnection(ctx, { token_storage: true });
  const client = await addClient(ctx);
  expect((await api.post('/provider_grants', document(client.id, connection.id))).status).toBe(201);
  const user = await addUser(ctx);
  const account = { connection_id: connection.id, subject: user.id, email: null, claims: {}, generation: 1 };
  const identity = await linkIdentity(ctx, user.id, account);
  const id = await addProviderToken(ctx, { identity, client_id: client.id });
  const { body } = await api.get(`/users/${user.id}/provider_tokens`);
  expect(body['data']).toHaveLength(1);
  expect(Object.keys(body['data'][0].attributes).sort()).toEqual([
    'created_at',
    'granted_at',
    'last_used_at',
    'scopes',
    'status',
    'updated_at',
  ]);
  expect((await api.delete(`/provider_tokens/${id}`)).status).toBe(405);
  for (let time = 0; time < 2; time++) {
    const revoked = await api.patch(`/provider_tokens/${id}/revoke`);
    expect([revoked.status, revoked.body['data'].attributes.status]).toEqual([200, 'lost']);
  }
  expect(await tokensOf(ctx, user)).toMatchObject([{ status: 'lost', tokens_sealed: null }]);
});
