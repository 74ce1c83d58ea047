// What webhooks tell, and whoever points them somewhere: a subscription takes the permission to read what it tells.
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { eventTypes } from '../../src/domain/events/catalogue.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { permissionsToReadEvent } from '../../src/domain/reach/reach-of.js';
import { signedInWith } from '../support/administrators.js';
import { Browser } from '../support/browser.js';
import { password } from '../support/data.js';
import { links, manage, type Api, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));
let delivery: Document;
const url = 'https://receiver.example/';

const webhook = shared(() => api.create('webhooks', { name: 'People', url, events: ['user.created'] }));

beforeAll(async () => {
  await api.create('users', { email: 'told@example.com', first_name: 'Told' });
  delivery = (await api.get('/webhook_deliveries')).body['data'][0];
});

const only = (...permissions: string[]) => manage(service.url, permissions.join(' '));
const write = (caller: Api, attributes: Document) => caller.update('webhooks', webhook['id'], attributes);

async function expectRefused(answer: Promise<{ status: number; body: Document }>, ...required: string[]): Promise<void> {
  const { status, body } = await answer;
  expect([status, body['errors']?.[0]?.code]).toEqual([403, 'scope_escalation']);
  expect(body['errors'][0].meta.required).toEqual(expect.arrayContaining(required));
}

test('every event type tells of a collection whose permission it takes, and * takes all', () => {
  for (const type of eventTypes) {
    const needed = permissionsToReadEvent(type);
    expect([type, needed.length > 0 && needed.length < 3, needed.every((name) => managementPermissions.includes(name))]).toEqual([
      type,
      true,
      true,
    ]);
  }
  expect(permissionsToReadEvent('user.updated')).toEqual(['users:read', 'roles:read']);
  expect(permissionsToReadEvent('user.password_changed')).toEqual(['users:read']);
  expect(permissionsToReadEvent('role.updated')).toEqual(['roles:read', 'permissions:read']);
  expect(permissionsToReadEvent('*')).toEqual(managementPermissions.filter((name) => name.endsWith(':read')));
});

test('a subscription takes the read permission of each event’s collection, at creation and at every change of it (attack 22.241)', async () => {
  const caller = await only('webhooks:write', 'webhooks:read', 'roles:read', 'permissions:read');
  const make = (events: string[]) => caller.attempt('webhooks', { name: 'Mine', url, events });
  await expectRefused(make(['user.created']), 'users:read');
  await expectRefused(make(['role.created', 'client.updated']), 'clients:read');
  await expectRefused(make(['token.issued']), 'clients:read', 'sessions:read');
  await expectRefused(make(['*']), 'users:read', 'audit_logs:read');
  const mine = (await make(['role.created'])).body['data'] as Document;
  const change = { data: { type: 'webhook', id: mine['id'], attributes: { events: ['role.created', 'user.updated'] } } };
  const refused = await caller.patch(`/webhooks/${mine['id']}`, change);
  expect([refused.status, refused.body['errors'][0].source]).toEqual([403, { pointer: '/data/attributes/events' }]);
});

test('sign-ins are told to who may read people and security events alone (attack 33.1167)', async () => {
  const named = (...permissions: string[]) => only('webhooks:write', ...permissions);
  const make = (caller: Api, type: string) => caller.attempt('webhooks', { name: 'Sign-ins', url, events: [type] });
  for (const type of ['login.failed', 'login.succeeded']) {
    await expectRefused(make(await named('users:read', 'sessions:read'), type), 'security_events:read');
    await expectRefused(make(await named('security_events:read'), type), 'users:read');
    expect((await make(await named('users:read', 'security_events:read'), type)).status).toBe(201);
  }
  await expectRefused(make(await named('sessions:read'), 'password.changed'), 'users:read');
  await expectRefused(make(await named('users:read'), 'session.created'), 'sessions:read');
  await expectRefused(make(await named('users:read'), 'authenticator.deleted'), 'authenticators:read');
  await expectRefused(make(await named('clients:read'), 'connection.updated'), 'connections:read');
});

test('nobody points a webhook elsewhere, or takes its secret, who may not read what it tells', async () => {
  const caller = await only('webhooks:write', 'webhooks:read');
  await expectRefused(write(caller, { url: 'https://elsewhere.example/' }), 'users:read');
  await expectRefused(write(caller, { status: 'disabled' }), 'users:read');
  await expectRefused(caller.patch(`/webhooks/${webhook['id']}/rotate_secret`), 'users:read');
  await expectRefused(caller.post(`/webhooks/${webhook['id']}/test`), 'users:read');
  await expectRefused(
    caller.post(`/webhooks/${webhook['id']}/redeliver_failed`, { meta: { since: '2020-01-01T00:00:00Z' } }),
    'users:read',
  );
  await expectRefused(caller.post(`/webhook_deliveries/${delivery['id']}/redeliver`), 'users:read');
  expect((await write(caller, { name: 'Renamed' })).status).toBe(200);
});

test('what a webhook was told before counts too: it may be sent again', async () => {
  const other = await api.create('webhooks', { name: 'Was people', url, events: ['user.created'] });
  const body = (attributes: Document) => ({ data: { type: 'webhook', id: other['id'], attributes } });
  expect((await api.patch(`/webhooks/${other['id']}`, body({ events: ['role.created'] }))).status).toBe(200);
  const caller = await only('webhooks:write', 'roles:read', 'permissions:read');
  await expectRefused(caller.patch(`/webhooks/${other['id']}`, body({ url: 'https://elsewhere.example/' })), 'users:read');
});

test('a delivery’s payload is shown to those who may read what it tells; the rest of it to all who read webhooks (attack 22.241)', async () => {
  const caller = await only('webhooks:read', 'webhooks:write');
  const seen = [
    (await caller.get(`/webhook_deliveries/${delivery['id']}`)).body['data'],
    (await caller.get('/webhook_deliveries')).body['data'][0],
    (await caller.get(`/webhooks/${webhook['id']}/deliveries`)).body['data'][0],
    (await caller.get('/webhook_deliveries?fields[webhook_delivery]=payload')).body['data'][0],
  ] as Document[];
  for (const one of seen) expect(one['attributes'].payload).toBeNull();
  expect(seen[0]?.['attributes'].event_type).toBe('user.created');
  expect(JSON.stringify(seen)).not.toContain('told@example.com');
  const reader = await only('webhooks:read', 'users:read', 'roles:read');
  expect((await reader.get(`/webhook_deliveries/${delivery['id']}`)).body['data'].attributes.payload.data.email).toBe('told@example.com');
});

test('nor is what the receiver answered, which quotes it (attack 22.860)', async () => {
  const ctx = await service.context();
  const { id } = ctx.environment;
  await ctx.db.knex('webhook_delivery_attempts').where({ environment_id: id, delivery_id: delivery['id'] }).delete();
  const attempt = { environment_id: id, id: randomUUID(), delivery_id: delivery['id'], attempt_number: 1, started_at: new Date() };
  await ctx.db
    .knex('webhook_delivery_attempts')
    .insert({ ...attempt, duration_ms: 1, response_status: 500, response_body: 'got told@example.com' });
  const answered = async (caller: Api) => [
    (await caller.get(`/webhook_deliveries/${delivery['id']}?include=attempts`)).body['included'][0],
    (await caller.get('/webhook_deliveries?include=attempts')).body['included'][0],
    (await caller.get(`/webhook_deliveries/${delivery['id']}/attempts`)).body['data'][0],
  ] as Document[]; // prettier-ignore
  const texts = (records: Document[]) => records.map(({ attributes }) => [attributes.response_status, attributes.response_body]);
  expect(texts(await answered(await only('webhooks:read', 'webhooks:write')))).toEqual(Array.from({ length: 3 }, () => [500, null]));
  const all = texts(await answered(await only('webhooks:read', 'users:read', 'roles:read')));
  expect(all).toEqual(Array.from({ length: 3 }, () => [500, 'got told@example.com']));
});

test('the dashboard shows and hands out no payload to those who may not read it', async () => {
  const permissions = (await api.get('/permissions?page[size]=100')).body['data'] as Document[];
  const ids = permissions
    .filter((one) => ['webhooks:read', 'webhooks:write'].includes(one['attributes'].name))
    .map((one) => one['id'] as string);
  const role = await api.create('roles', { name: 'Deliveries' }, { permissions: links('permission', ...ids) });
  await api.create('users', { email: 'watcher@example.com', password, email_verified: true }, { roles: links('role', role['id']) });
  const browser = new Browser(service.url);
  await browser.login('watcher@example.com', password);
  const page = await (await browser.get(`/dashboard/webhook_deliveries/${delivery['id']}`)).text();
  expect([page.includes('told@example.com'), page.includes('you need the permission users:read and roles:read')]).toEqual([false, true]);
  const file = await browser.get(`/dashboard/webhook_deliveries/${delivery['id']}/payload`);
  expect([file.status, (await file.text()).includes('told@example.com')]).toEqual([403, false]);
});

test('a payload that names somebody’s roles takes `roles:read` too, to read, to download and to subscribe to (attack 22.1016)', async () => {
  const role = await api.create('roles', { name: 'Secret society' });
  await api.create('users', { email: 'member@example.com' }, { roles: links('role', role['id']) });
  const [told] = (await api.get('/webhook_deliveries')).body['data'] as Document[];
  expect(told?.['attributes'].payload.data.roles).toEqual(['Secret society']);
  const payloadFor = async (...permissions: string[]) =>
    (await (await only('webhooks:read', ...permissions)).get(`/webhook_deliveries/${told?.['id']}`)).body['data'].attributes.payload;
  expect(await payloadFor('users:read')).toBeNull();
  expect((await payloadFor('users:read', 'roles:read')).data.roles).toEqual(['Secret society']);
  const watcher = await signedInWith(service, 'webhooks:read', 'webhooks:write', 'users:read');
  expect((await watcher.get(`/dashboard/webhook_deliveries/${told?.['id']}/payload`)).status).toBe(403);
  expect(await (await watcher.get(`/dashboard/webhook_deliveries/${told?.['id']}`)).text()).not.toContain('Secret society');
  const caller = await only('webhooks:write', 'users:read');
  const mine = { data: { type: 'webhook', attributes: { name: 'Mine', url, events: ['user.updated'] } } };
  await expectRefused(caller.post('/webhooks', mine), 'roles:read');
});
