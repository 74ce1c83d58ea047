// What a configuration document manages is marked where somebody might change it by hand.
import { beforeAll, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import type { Browser } from '../support/browser.js';
import { applied, shopDocument, shopSecrets } from '../support/configuration.js';
import { manage, type Document } from '../support/management.js';
import { sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let admin: Browser;
let byHand: Document;

beforeAll(async () => {
  const api = await manage(service.url);
  await applied(api, shopDocument, { secrets: shopSecrets });
  byHand = await api.create('clients', { name: 'By hand', application_type: 'machine' });
  const collections = ['clients', 'roles', 'connections', 'webhooks', 'environments'];
  admin = await signedInWith(service, ...collections.flatMap((name) => [`${name}:read`, `${name}:write`]));
});

const html = async (path: string) => (await admin.get(path)).text();
const notice = 'A configuration document manages this; Management client applied it on';

test('a managed record says so on its page and above the form that changes it; another one does not', async () => {
  for (const path of ['/dashboard/clients/shop', '/dashboard/clients/shop/edit', '/dashboard/settings']) expect([path, (await html(path)).includes(notice)]).toEqual([path, true]); // prettier-ignore
  for (const path of [`/dashboard/clients/${byHand['id']}`, `/dashboard/clients/${byHand['id']}/edit`]) expect([path, (await html(path)).includes(notice)]).toEqual([path, false]); // prettier-ignore
});

test('lists mark what is managed, and nothing else', async () => {
  const rows = (await html('/dashboard/clients')).split('<tr>').slice(1);
  const marked = rows.filter((row) => row.includes('row-mark')).map((row) => /\/dashboard\/clients\/([\w-]+)/.exec(row)?.[1]);
  expect(marked.sort()).toEqual(['deploy', 'front', 'shop', 'wiki']);
  expect(await html('/dashboard/roles')).toContain('managed');
  expect(await html('/dashboard/webhooks')).toContain('managed');
});
