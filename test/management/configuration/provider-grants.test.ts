// Grants for tokens at a connection's provider in configuration documents; owners of clients, which name a person, are in none.
import { beforeEach, expect, test } from 'vitest';
import { addUser } from '../../support/data.js';
import { applied, apply, exported, plan, problemsOf, told } from '../../support/configuration.js';
import { link, manage, type Document } from '../../support/management.js';
import { contextOf, sharedManagedService, shared } from '../../support/shared-service.js';
import type {} from '../../support/service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url));
beforeEach(async () => {
  for (const name of ['connections', 'clients', 'configurations']) await ctx.db.knex(name).where(name === 'clients' ? { is_system: false } : {}).delete(); // prettier-ignore
});

const client = (client_id: string, more: Document = {}) => ({ client_id, name: client_id, application_type: 'machine', grant_types: ['client_credentials'], ...more }); // prettier-ignore
const google = {
  name: 'google',
  display_name: 'Google',
  strategy: 'oidc',
  issuer: 'https://idp.example',
  provider_client_id: 'us',
  token_storage: true,
};
const grant = { client: 'desk', scopes: ['calendar'] };
const document = (more: Document = {}): Document => ({
  version: 1,
  clients: [client('desk'), client('till')],
  connections: [{ ...google, ...more }],
});
const changes = (meta: Document) => told({ body: { meta } } as never);
const clients = { clients: [client('desk'), client('till')] };

test('a connection, clients and their grants are applied together, and again without a change', async () => {
  const meta = await applied(api, document({ provider_grants: [grant, { client: 'till', scopes: ['mail'], status: 'disabled' }] }));
  expect(changes(meta).slice(-2)).toEqual(['create provider_grant desk -> google', 'create provider_grant till -> google']);
  const known = (await exported(api))['connections'] as Document[];
  expect(known).toMatchObject([
    {
      name: 'google',
      provider_grants: [
        { ...grant, status: 'enabled' },
        { client: 'till', scopes: ['mail'], status: 'disabled' },
      ],
    },
  ]);
  expect(told(await plan(api, { version: 1, connections: known }, { prune: true }))).toEqual([]);
});

test('what is set back is the default, what is absent is left alone, and prune deletes what the list does not have', async () => {
  await applied(
    api,
    document({
      provider_grants: [
        { ...grant, status: 'disabled' },
        { client: 'till', scopes: ['mail'] },
      ],
    }),
  );
  expect(changes(await applied(api, document(), { prune: true }))).toEqual([]);
  const back = await applied(api, document({ provider_grants: [{ client: 'desk', status: null }] }), { prune: true });
  expect((back['changes'] as Document[]).map(({ action, key, attributes }) => [action, key, attributes])).toEqual([
    ['update', 'desk -> google', { status: ['disabled', 'enabled'] }],
    ['delete', 'till -> google', {}],
  ]);
  const [one] = (await api.get('/provider_grants')).body['data'] as Document[];
  await api.delete(`/provider_grants/${one?.['id']}`);
  const [drifted] = (await api.get('/config/drift')).body['meta'].changes as Document[];
  expect(drifted).toMatchObject({ action: 'delete', kind: 'provider_grant', key: 'desk -> google' });
});

test('what is wrong is told at its place, and nothing is done', async () => {
  const at = '/meta/document/connections/0';
  const refused = async (more: Document, also: Document = {}) => problemsOf(await apply(api, { ...document(more), ...also }));
  expect(await refused({ provider_grants: [{ ...grant, client: 'nobody' }] })).toEqual([
    `related_not_found ${at}/provider_grants/0/client`,
  ]);
  expect(await refused({ provider_grants: [grant, grant] })).toEqual([`duplicate_value ${at}/provider_grants/1`]);
  expect(await refused({ provider_grants: [{ client: 'desk' }] })).toEqual([`required ${at}/provider_grants/0`]);
  expect(await refused({ provider_grants: [{ ...grant, user: 'x' }] })).toEqual([`unknown_member ${at}/provider_grants/0/user`]);
  expect(await refused({ provider_grants: [grant], token_storage: false })).toEqual([`invalid_value ${at}/provider_grants/0`]);
  const spa = {
    clients: [client('desk', { application_type: 'spa', grant_types: ['authorization_code'], redirect_uris: ['https://a.example/'] })],
  };
  expect(await refused({ provider_grants: [grant] }, spa)).toEqual([`public_client ${at}/provider_grants/0`]);
  expect((await api.get('/connections')).body['data']).toEqual([]);
});

test('the owner of a client is a person: no document has it, and none takes it away', async () => {
  await applied(api, { version: 1, ...clients });
  const { id } = await addUser(ctx);
  expect((await api.patch('/clients/desk', { data: { type: 'client', id: 'desk', relationships: { owner: { data: { type: 'user', id } } } } })).status).toBe(200); // prettier-ignore
  const described = (await exported(api))['clients'] as Document[];
  expect(described.filter((one) => Object.hasOwn(one, 'owner'))).toEqual([]);
  expect(told(await plan(api, { version: 1, clients: described }, { prune: true }))).toEqual([]);
  expect(problemsOf(await apply(api, { version: 1, clients: [client('desk', { owner: 'ada@example.com' })] }))).toEqual([
    'unknown_member /meta/document/clients/0/owner',
  ]);
  const { relationships } = (await api.get('/clients/desk')).body['data'] as Document;
  expect(relationships['owner'].data).toEqual(link('user', id).data);
});
