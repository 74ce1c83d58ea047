// Denied Management calls, and what the audit log shows of security events.
import { expect, test } from 'vitest';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { Browser } from '../support/browser.js';
import { addClient, addUser, password } from '../support/data.js';
import { Api, link, manage, managementClient, managementToken, type Document } from '../support/management.js';
import { signedInWith } from '../support/administrators.js';
import { auditRows, eventLines } from '../support/security-events.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url));

const listed = async (query: string): Promise<Document[]> => (await api.get(`/audit_logs?${query}`)).body['data'] as Document[];
const narrow = async (scope: string) => new Api(service.url, await managementToken(service.url, managementClient, { scope }));
const about = { 'user-agent': 'Marked/1.0', 'x-request-id': 'denied-1' };

test('management.denied: a permission that is missing, in the log and, as the operation that was tried, in the audit log', async () => {
  const reader = await narrow('webhooks:read');
  const body = { data: { type: 'webhook', attributes: { name: 'x', url: 'https://x.example', events: ['*'] } } };
  expect((await reader.post('/webhooks', body, about)).status).toBe(403);
  const row = (await auditRows(service, 'webhook.created')).at(-1);
  const where = { ip_address: '127.0.0.1', user_agent: 'Marked/1.0', request_id: 'denied-1' };
  expect(row).toMatchObject({
    outcome: 'denied',
    reason: 'insufficient_scope',
    actor_kind: 'client',
    actor_id: managementClient.id,
    ...where,
  });
  expect(eventLines(service, 'management.denied').at(-1)).toMatchObject({
    severity: 'warning',
    reason: 'insufficient_scope',
    actor_id: managementClient.id,
    target_type: 'webhook',
    ...where,
  });
});

test('management.denied: an escalation', async () => {
  const clientsOnly = await narrow('clients:read clients:write api_resources:read');
  const [management] = (await api.get(`/api_resources?filter[identifier]=${service.url}/api`)).body['data'] as Document[];
  const client = await api.create('clients', { name: 'Ambitious', application_type: 'machine' });
  const relationships = { client: link('client', client['id']), api_resource: link('api_resource', management?.['id']) };
  const answer = await clientsOnly.attempt('client_grants', { scopes: ['users:write'] }, relationships);
  expect(answer.status).toBe(403);
  const code = (answer.body['errors'] as Document[])[0]?.['code'] as string;
  expect(eventLines(service, 'management.denied').at(-1)).toMatchObject({ reason: code, target_type: 'client_grant', outcome: 'denied' });
  expect((await auditRows(service, 'client_grant.created')).at(-1)).toMatchObject({ outcome: 'denied', reason: code });
});

test('management.denied: asked again and again within a minute it is one row with a count', async () => {
  // At the beginning of a minute, so that none ends in between.
  service.clock.advance(60_000 - (service.clock.now().getTime() % 60_000));
  const reader = await narrow('users:read');
  for (let i = 0; i < 5; i++) expect((await reader.get('/webhooks')).status).toBe(403);
  const rows = (await auditRows(service, 'webhook.read')).filter(({ outcome }) => outcome === 'denied');
  expect(rows.map(({ count }) => count)).toEqual([5]);
  expect(eventLines(service, 'management.denied').filter((line) => line['target_type'] === 'webhook').length).toBeGreaterThanOrEqual(5);
});

test('management.denied: nothing of it for a call that is let through', async () => {
  const before = eventLines(service, 'management.denied').length;
  expect((await api.get('/webhooks')).status).toBe(200);
  expect(eventLines(service, 'management.denied')).toHaveLength(before);
});

test('consent.withdrawn through the Management API is a line too, with who did it', async () => {
  const [user, client] = [await addUser(ctx), await addClient(ctx, { first_party: false })];
  await giveConsent(ctx, { user_id: user.id, client_id: client.id, scopes: ['openid'], resource: null });
  const [consent] = (await api.get(`/consents?filter[user]=${user.id}`)).body['data'] as Document[];
  expect((await api.delete(`/consents/${consent?.['id']}`, undefined, about)).status).toBe(204);
  expect(eventLines(service, 'consent.withdrawn').at(-1)).toMatchObject({ actor_id: managementClient.id, request_id: 'denied-1' });
  expect(await auditRows(service, 'consent.withdrawn')).toMatchObject([{ actor_id: managementClient.id, security_event: false, count: 1 }]);
});

test('the audit log shows security events, and tells them apart: by kind, action, outcome, actor and target', async () => {
  const user = await addUser(ctx);
  const browser = new Browser(service.url);
  await browser.postJson('/login', { email: user.email, password: 'wrong' });
  await browser.postJson('/login', { email: user.email, password });
  await auditRows(service, 'login.failed');
  const [failed] = await listed(`filter[action]=login.failed&filter[outcome]=failure&filter[target]=${user.id}`);
  expect(failed?.['attributes']).toMatchObject({
    action: 'login.failed',
    outcome: 'failure',
    reason: 'invalid_credentials',
    actor: { actor_kind: 'anonymous', actor_id: null, display: null },
    targets: [{ target_type: 'user', target_id: user.id, display: user.email }],
    ip_address: '127.0.0.1',
    count: 1,
    security_event: true,
  });
  const [succeeded] = await listed(`filter[action]=login.succeeded&filter[actor]=${user.id}`);
  expect(succeeded?.['attributes'].changes).toEqual({ amr: [null, ['pwd']], methods: [null, ['password']], new_device: [null, true] });
  const kinds = async (security_event: boolean) =>
    new Set((await listed(`filter[security_event]=${security_event}&page[size]=100`)).map(({ attributes }) => attributes.security_event));
  expect([await kinds(true), await kinds(false)]).toEqual([new Set([true]), new Set([false])]);
  expect((await api.get('/audit_logs?filter[outcome]=perhaps')).status).toBe(400);
  expect((await api.patch(`/audit_logs/${failed?.['id']}`, { data: {} })).status).toBe(405);
  expect((await (await narrow('users:read')).get('/audit_logs')).status).toBe(403);
});

test('the dashboard shows them, in its log and with the person', async () => {
  const user = await addUser(ctx);
  for (let i = 0; i < 2; i++) await new Browser(service.url).postJson('/login', { email: user.email, password: 'wrong' });
  await auditRows(service, 'login.failed');
  const viewer = await signedInWith(service, 'audit_logs:read', 'users:read');
  const log = await (await viewer.get(`/dashboard/audit_logs?security_event=true&target=${user.id}`)).text();
  for (const words of ['Wrong password', '2 times', `href="/dashboard/users/${user.id}"`]) expect(log).toContain(words);
  expect(await (await viewer.get('/dashboard/audit_logs?security_event=false')).text()).not.toContain('Wrong password');
  const [failed] = await listed(`filter[action]=login.failed&filter[target]=${user.id}`);
  const page = await (await viewer.get(`/dashboard/audit_logs/${failed?.['id']}`)).text();
  for (const words of [
    'Wrong password',
    'send a password reset',
    'Failed',
    'invalid_credentials',
    'Occurrences within the minute',
    '127.0.0.1',
  ])
    expect(page).toContain(words);
  expect(await (await viewer.get(`/dashboard/users/${user.id}/activity`)).text()).toContain('Wrong password');
  const csv = await (await viewer.get(`/dashboard/audit_logs/export?format=csv&target=${user.id}`)).text();
  expect(csv.split('\r\n')[0]).toMatch(/,"count","id"$/);
});

test('signing_key.changed: an algorithm that is added to an environment, or taken away, and one that the profile of a client brings', async () => {
  const id = ctx.environment.id;
  const set = async (signing_algorithms: string[]) =>
    expect((await api.update('environments', id, { signing_algorithms })).status).toBe(200);
  const last = async () => ((await api.get('/security_events?filter[event]=signing_key.changed&sort=-occurred_at')).body['data'] as Document[])[0]?.['attributes'] as Document; // prettier-ignore
  await set(['RS256', 'ES256']);
  const added = await last();
  expect([added['severity'], added['detail'].action, added['detail'].signing_algorithms]).toEqual([
    'warning',
    'environment.updated',
    ['RS256', 'ES256'],
  ]);
  expect(eventLines(service, 'signing_key.changed').at(-1)).toMatchObject({ target_type: 'environment', actor_id: managementClient.id });
  await set(['RS256']);
  expect((await last())['detail'].signing_algorithms).toEqual(['RS256']);
  const strict = { name: 'Bank', application_type: 'web', profile: 'fapi2', redirect_uris: ['https://bank.example/cb'], token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://bank.example/jwks' }; // prettier-ignore
  await api.create('clients', strict);
  const brought = await last();
  expect([brought['actor'].actor_kind, brought['detail'].action, brought['detail'].reason]).toEqual([
    'system',
    'signing_key.generated',
    'profile',
  ]);
});
