// What hangs on a user without being made by administrators: identities, which they may unlink, and consents, which they may withdraw.
import { beforeAll, expect, test } from 'vitest';
import { giveConsent } from '../../src/domain/grants/consents.js';
import type { Context } from '../../src/domain/context.js';
import { linkIdentity } from '../../src/domain/connections/identities.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { findConsent } from '../../src/db/tables/consents.js';
import type { IdentityRow } from '../../src/db/tables/identities.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { addConnection } from '../support/connections.js';
import { addClient, addUser, type TestClient } from '../support/data.js';
import { Api, manage, managementToken, managementClient, secondEnvironment, type Document } from '../support/management.js';
import { authorizeCode, redeem, tokenRequest } from '../support/oauth.js';
import { publishedDocument } from '../support/openapi.js';
import { shared, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));
let reader: Api;
let other: Api;
let ctx: Context;
let connection: ConnectionRow;

beforeAll(async () => {
  reader = new Api(service.url, await managementToken(service.url, managementClient, { scope: 'users:read' }));
  other = (await secondEnvironment(api)).api;
  ctx = await service.context();
  connection = await addConnection(ctx, { display_name: 'Example Corporation' });
});

const unlinked = (id: string) => api.get(`/audit_logs?filter[target]=${id}`);
const one = (answer: { body: Document }) => answer.body['data'] as Document;
const codesOf = (answer: { body: Document }) => (answer.body['errors'] as Document[]).map((error) => error['code']);

const addIdentity = async (user: UserRow, at = connection): Promise<IdentityRow> =>
  linkIdentity(ctx, user.id, {
    generation: 1,
    connection_id: at.id,
    subject: `sub of ${user.id}`,
    email: 'ada@corp.example',
    claims: { secret: 'claim' },
  });

test('identities of a user: related, linked, included, filtered; nothing of the claims', async () => {
  const user = await addUser(ctx);
  const identity = await addIdentity(user);
  const identifier = { type: 'identity', id: identity.id };
  const read = await api.get(`/users/${user.id}?include=identities.connection`);
  expect(one(read)['relationships'].identities).toEqual({
    links: {
      self: `${service.url}/api/users/${user.id}/relationships/identities`,
      related: `${service.url}/api/users/${user.id}/identities`,
    },
    data: [identifier],
  });
  expect((read.body['included'] as Document[]).map(({ type, id }) => [type, id])).toEqual([
    ['identity', identity.id],
    ['connection', connection.id],
  ]);
  expect(read.body['included'][0].attributes).toEqual({
    subject: `sub of ${user.id}`,
    email: 'ada@corp.example',
    proven: true,
    last_login_at: identity.last_login_at,
    created_at: identity.created_at.toISOString(),
    updated_at: identity.updated_at.toISOString(),
  });
  expect((await api.get(`/users/${user.id}/relationships/identities`)).body['data']).toEqual([identifier]);
  for (const list of [
    `/users/${user.id}/identities`,
    `/identities?filter[user]=${user.id}`,
    `/identities?filter[subject]=sub of ${user.id}&filter[connection]=${connection.id}`,
  ]) {
    expect([list, (await api.get(encodeURI(list))).body['data'].map(({ id }: Document) => id)]).toEqual([list, [identity.id]]);
  }
  expect(one(await api.get(`/identities/${identity.id}?include=user`))['relationships'].user.data).toEqual({ type: 'user', id: user.id });
  expect(one(await api.get(`/identities/${identity.id}/connection`))['id']).toBe(connection.id);
  expect((await api.get(`/users?filter[connection]=${connection.id}&filter[email]=${user.email}`)).body['data']).toHaveLength(1);
  expect(
    (await api.get(`/identities?filter[created_at][lt]=${identity.created_at.toISOString()}&filter[user]=${user.id}`)).body['data'],
  ).toEqual([]);
});

test('an administrator unlinks an identity: 204, audited, and the user is parted from it', async () => {
  const user = await addUser(ctx);
  const identity = await addIdentity(user);
  const removed = await api.delete(`/identities/${identity.id}`);
  expect([removed.status, removed.text]).toEqual([204, '']);
  expect((await api.get(`/identities/${identity.id}`)).status).toBe(404);
  expect((await api.delete(`/identities/${identity.id}`)).status).toBe(404);
  expect((await api.get(`/users/${user.id}/identities`)).body['data']).toEqual([]);
  const entries = (await unlinked(identity.id)).body['data'] as Document[];
  expect(entries.map(({ attributes }) => [attributes.action, attributes.outcome])).toEqual([['identity.unlinked', 'success']]);
});

test('the last way in stays: 409 last_way_in, without a trace', async () => {
  const user = await addUser(ctx, { password_hash: null });
  const [off, identity] = [await addConnection(ctx, { status: 'disabled' }), await addIdentity(user)];
  await addIdentity(user, off);
  const refused = await api.delete(`/identities/${identity.id}`);
  expect([refused.status, codesOf(refused)]).toEqual([409, ['last_way_in']]);
  expect((await api.get(`/users/${user.id}/identities`)).body['data']).toHaveLength(2);
  expect((await unlinked(identity.id)).body['data']).toEqual([]);
});

test('identities and consents are made by users alone, and need users:read and users:write', async () => {
  const identity = await addIdentity(await addUser(ctx));
  for (const path of ['identities', 'consents']) {
    const created = await api.post(`/${path}`, { data: { type: 'x' } });
    expect([created.status, created.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await reader.get(`/${path}`)).status).toBe(200);
  }
  expect((await api.patch(`/identities/${identity.id}`, { data: { type: 'identity', id: identity.id } })).status).toBe(405);
  const denied = await reader.delete(`/identities/${identity.id}`);
  expect([denied.status, denied.body['errors'][0].meta]).toEqual([403, { required: ['users:write'] }]);
  const clientsOnly = new Api(service.url, await managementToken(service.url, managementClient, { scope: 'clients:read' }));
  expect((await clientsOnly.get('/consents')).status).toBe(403);
  expect((await reader.get('/identities?include=connection')).status).toBe(403);
  expect((await api.get('/identities?include=claims')).status).toBe(400);
});

async function consented(): Promise<{ user: UserRow; client: TestClient; consent: Document; refresh_token: string }> {
  const user = await addUser(ctx);
  const client = await addClient(ctx, { first_party: false });
  await giveConsent(ctx, { user_id: user.id, client_id: client.id, scopes: ['openid', 'offline_access', 'email'], resource: null });
  const browser = await signedIn(service, user);
  const grant = await authorizeCode(browser, client, { scope: 'openid offline_access' });
  const { body } = await redeem(service.url, client, grant);
  const consent = (await api.get(`/consents?filter[user]=${user.id}`)).body['data'][0] as Document;
  return { user, client, consent, refresh_token: body.refresh_token as string };
}

test('consents of a user: related, included, filtered', async () => {
  const { user, client, consent } = await consented();
  expect(consent['attributes']).toMatchObject({ resource_scopes: { '': ['openid', 'offline_access', 'email'] } });
  expect(consent['attributes'].granted_at).toBe(consent['attributes'].created_at);
  expect(one(await api.get(`/users/${user.id}?include=consents.client`))['relationships'].consents.data).toEqual([
    { type: 'consent', id: consent['id'] },
  ]);
  for (const list of [
    `/users/${user.id}/consents`,
    `/consents?filter[client]=${client.id}`,
    `/consents?filter[scope]=email&filter[user]=${user.id}`,
  ]) {
    expect([list, (await api.get(list)).body['data'].map(({ id }: Document) => id)]).toEqual([list, [consent['id']]]);
  }
  expect(one(await api.get(`/consents/${consent['id']}/client`))['id']).toBe(client.id);
  expect((await api.get('/consents?sort=-granted_at,updated_at&page[size]=1')).status).toBe(200);
});

test('an administrator withdraws a consent: what the client holds of the user ends, offline_access or not', async () => {
  const { user, client, consent, refresh_token } = await consented();
  expect((await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token })).status).toBe(200);
  expect((await api.delete(`/consents/${consent['id']}`)).status).toBe(204);
  expect(await findConsent(ctx.scope, user.id, client.id)).toBeNull();
  expect((await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token })).status).toBe(400);
  expect((await api.delete(`/consents/${consent['id']}`)).status).toBe(404);
  const entries = (await unlinked(consent['id'])).body['data'] as Document[];
  expect(entries.map(({ attributes }) => attributes.action)).toEqual(['consent.withdrawn']);
  expect((await reader.delete(`/consents/${consent['id']}`)).status).toBe(403);
});

test('a second environment sees and ends none of them', async () => {
  const identity = await addIdentity(await addUser(ctx));
  const { user, consent } = await consented();
  for (const path of [`identities/${identity.id}`, `consents/${consent['id']}`]) {
    expect([path, (await other.get(`/${path}`)).status, (await other.delete(`/${path}`)).status]).toEqual([path, 404, 404]);
    expect((await other.get(`/${path}/user`)).status).toBe(404);
    expect((await api.get(`/${path}`)).status).toBe(200);
  }
  expect((await other.get(`/users/${user.id}/consents`)).status).toBe(404);
  for (const list of ['/identities', '/consents', `/consents?filter[user]=${user.id}`, `/users?filter[connection]=${connection.id}`])
    expect([list, (await other.get(list)).body['data']]).toEqual([list, []]);
});

test('every exchange of this file is as the OpenAPI document says', async () =>
  expect((await publishedDocument(service.url)).problemsOf([...api.exchanges, ...reader.exchanges])).toEqual([]));
