import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import { listConnectionIdsOfClient } from '../../src/db/tables/client_connections.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient } from '../support/data.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;
let ctx: Context;
const versionOf = (html: string) => /name="_version" value="(\d+)"/.exec(html)?.[1] ?? '';

beforeAll(async () => {
  service = await startTestService();
  ctx = await service.context();
});
afterAll(() => service?.stop());

test('the credentials: the hint of the secret, and until when the previous one works', async () => {
  const client = await addClient(ctx, { name: 'Keeper', first_party: false, secret_hint: 'abcd' });
  const path = `/dashboard/clients/${client.id}`;
  const browser = await signedInWith(service, 'clients:read', 'clients:write');
  const before = await (await browser.get(`${path}/credentials`)).text();
  expect(before).toContain('None that works');
  expect(before).toContain(`href="${path}/rotate_secret"`);
  expect((await browser.post(`${path}/rotate_secret`, { _csrf: csrfOf(before) })).status).toBe(200);
  const after = await (await browser.get(`${path}/credentials`)).text();
  expect(after).toContain('Still works');
  expect(after).toContain('Previous secret works until');
  expect(after).not.toMatch(/cs_[\w-]{20,}/);
  const reader = await signedInWith(service, 'clients:read');
  expect(await (await reader.get(`${path}/credentials`)).text()).not.toContain('rotate_secret');
});

test('the connections that a client offers are chosen, and read', async () => {
  const client = await addClient(ctx, { name: 'Offering', first_party: false });
  const [first, second] = [await addConnection(ctx, { display_name: 'Corp' }), await addConnection(ctx, { display_name: 'Other' })];
  const path = `/dashboard/clients/${client.id}/connections`;
  const browser = await signedInWith(service, 'clients:read', 'clients:write', 'connections:read');
  const page = await (await browser.get(path)).text();
  const fields = { _csrf: csrfOf(page), _version: versionOf(page) };
  expect((await browser.post(path, { ...fields, [`connections:${first.id}`]: 'on' })).headers.get('location')).toBe(`${path}?done=updated`);
  expect(await listConnectionIdsOfClient(ctx.scope, client.id)).toEqual([first.id]);
  const late = await browser.post(path, { ...fields, [`connections:${second.id}`]: 'on' });
  expect([late.status, await late.text()]).toEqual([409, expect.stringContaining('Somebody changed this client meanwhile')]);
  const unknown = { ...fields, _version: versionOf(await (await browser.get(path)).text()), 'connections:nope': 'on' };
  expect((await browser.post(path, unknown)).status).toBe(404);
  expect(await listConnectionIdsOfClient(ctx.scope, client.id)).toEqual([first.id]);
  const reader = await signedInWith(service, 'clients:read', 'connections:read');
  const read = await (await reader.get(path)).text();
  expect([read.includes('Corp'), read.includes('Other'), read.includes('Save connections')]).toEqual([true, false, false]);
  expect((await reader.post(path, { ...fields, _csrf: csrfOf(read) })).status).toBe(403);
});

test('no connections for those who may not read them, nor for clients that nobody signs in to', async () => {
  const machine = await addClient(ctx, { application_type: 'machine', grant_types: ['client_credentials'], redirect_uris: [] });
  const web = await addClient(ctx, {});
  const all = await signedInWith(service, 'clients:read', 'connections:read');
  expect((await all.get(`/dashboard/clients/${machine.id}/connections`)).status).toBe(404);
  const without = await signedInWith(service, 'clients:read');
  expect((await without.get(`/dashboard/clients/${web.id}/connections`)).status).toBe(404);
  expect(await (await without.get(`/dashboard/clients/${web.id}`)).text()).not.toContain(`/clients/${web.id}/connections`);
});
