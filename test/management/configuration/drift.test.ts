// Configuration as code: what was changed by hand since, by whom, and when.
import { expect, test } from 'vitest';
import { applied, shopDocument, shopSecrets } from '../../support/configuration.js';
import { manage, managementClient, secondEnvironment, type Document } from '../../support/management.js';
import { shared, sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

async function drift(): Promise<Document> {
  const answer = await api.get('/config/drift');
  expect(answer.status).toBe(200);
  return answer.body['meta'] as Document;
}
const change = async (...of: Parameters<typeof api.update>) => expect((await api.update(...of)).status).toBe(200);

test('without a document there is no drift; applied as it stands neither', async () => {
  expect(await drift()).toMatchObject({ applied: null, changes: [], summary: { create: 0, update: 0, delete: 0 } });
  const { state } = await applied(api, shopDocument, { secrets: shopSecrets });
  const now = await drift();
  expect(now).toMatchObject({ applied: { actor_kind: 'client', actor_id: managementClient.id }, changes: [], state });
});

test('what was changed, deleted and rotated by hand is told with the values, who did it and when; what the document leaves open is not', async () => {
  await change('clients', 'shop', { name: 'Hand-made', description: 'not in the document' });
  await api.patch('/clients/shop/rotate_secret');
  const orders = (await api.get('/permissions?filter[name]=orders:write')).body['data'][0].id as string;
  await api.delete(`/permissions/${orders}`);
  await change('environments', (await api.get('/environments')).body['data'][0].id, { session_lifetime: 3600 });
  await api.create('roles', { name: 'by hand' });
  const found = await drift();
  const by = { actor_kind: 'client', actor_id: managementClient.id, display: 'Management client' };
  expect(found['changes']).toEqual([
    {
      action: 'update',
      kind: 'client',
      key: 'shop',
      attributes: { name: ['Shop', 'Hand-made'], client_secret: ['[secret]', '[secret]'] },
      changed: expect.objectContaining(by),
    },
    {
      action: 'update',
      kind: 'environment',
      key: 'default',
      attributes: { session_lifetime: [86_400, 3600] },
      changed: expect.objectContaining(by),
    },
    { action: 'delete', kind: 'permission', key: 'https://api.example#orders:write', attributes: {}, changed: expect.objectContaining(by) },
    {
      action: 'update',
      kind: 'role',
      key: 'clerk',
      attributes: { permissions: [expect.arrayContaining([]), expect.arrayContaining([])] },
      changed: null,
    },
  ]);
  for (const { changed } of found['changes'] as Document[]) if (changed) expect(Date.parse(changed.at as string)).toBeGreaterThan(0);
  const again = await applied(api, shopDocument, { secrets: shopSecrets });
  expect((again['changes'] as Document[]).map(({ action, key }) => `${action} ${key}`)).toEqual([
    'update default',
    'create https://api.example#orders:write',
    'update clerk',
    'update shop',
  ]);
  expect((await drift())['changes']).toEqual([]);
});

test('where a document prunes, what was added by hand is drift too', async () => {
  const roles = { version: 1, roles: shopDocument['roles'] };
  await applied(api, roles, { prune: true });
  const role = await api.create('roles', { name: 'added' });
  await api.create('connections', { name: 'not-pruned', display_name: 'x', strategy: 'google', provider_client_id: 'x', provider_client_secret: 'y' }); // prettier-ignore
  const found = (await drift())['changes'] as Document[];
  expect(found.map(({ action, kind, key }) => `${action} ${kind} ${key}`)).toEqual(['create role added']);
  expect(found[0]?.['changed']).toMatchObject({ actor_id: managementClient.id });
  await api.delete(`/roles/${role['id']}`);
  expect((await drift())['changes']).toEqual([]);
});

test('another environment has a document and a drift of its own', async () => {
  const { api: other } = await secondEnvironment(api);
  expect((await other.get('/config/drift')).body['meta'].applied).toBeNull();
  await applied(other, { version: 1, roles: [] }, { prune: true });
  expect((await drift())['applied']).not.toBeNull();
  expect((await other.get('/config/drift')).body['meta'].changes).toEqual([]);
});
