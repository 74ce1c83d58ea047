// Why it failed: what happened to a person, a client or a connection, as one list in words.
import { beforeAll, expect, test } from 'vitest';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { insertAuditLog } from '../../src/db/tables/audit_logs.js';
import { flushSecurityTrail } from '../../src/domain/audit/security-trail.js';
import { uuidv7 } from '../../src/lib/random.js';
import { signedInWith } from '../support/administrators.js';
import { Browser } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient, addEnvironment, addUser, password } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { observeStatements } from '../support/statements.js';
import type { Context } from '../../src/domain/context.js';

const service = sharedService();
const ctx = contextOf(service);
let admin: Browser;

beforeAll(async () => {
  const all = ['users', 'clients', 'connections', 'sessions'].flatMap((name) => [`${name}:read`, `${name}:write`]);
  admin = await signedInWith(service, ...all, 'audit_logs:read', 'request_traces:read', 'clients:read');
});

const html = async (browser: Browser, path: string) => (await browser.get(`/dashboard${path}`)).text();
/** What the rows of the page say happened, the latest first. */
const sentences = (page: string) =>
  [...page.matchAll(/<th scope="row">[\s\S]*?<\/svg>\s*([^<]+)<\/span>/g)].map(([, text]) => (text ?? '').replaceAll('&#39;', '’'));

const entry = (row: Partial<Parameters<typeof insertAuditLog>[1]> = {}) => ({
  id: uuidv7(Date.now()),
  occurred_at: new Date(),
  action: 'user.updated',
  outcome: 'success' as const,
  reason: null,
  actor_kind: 'user' as const,
  actor_id: null,
  actor_display: 'admin@example.com',
  actor_permissions: [],
  target_type: 'user',
  target_id: null,
  target_display: null,
  changes: {},
  ip_address: null,
  user_agent: null,
  request_id: null,
  idempotency_key_digest: null,
  ...row,
});

/** So many entries about the party, a second apart; every tenth was denied. */
async function fill(scope: Context['scope'], party: string, count: number): Promise<void> {
  const now = Date.now();
  for (let from = 0; from < count; from += 100) {
    const rows = Array.from({ length: Math.min(100, count - from) }, (_, i) => {
      const occurred_at = new Date(now - (count - from - i) * 1000);
      const outcome = (from + i) % 600 === 0 ? ('denied' as const) : ('success' as const);
      return entry({ id: uuidv7(occurred_at.getTime()), occurred_at, outcome, target_id: party, changes: { n: [null, from + i] } });
    });
    await insertAuditLog(scope, ...rows);
  }
}

test('why somebody could not sign in: one list in words, with what to do, and what the person has now', async () => {
  const user = await addUser(ctx, { first_name: 'Lena', last_name: 'Vogel' });
  const lena = new Browser(service.url);
  await lena.postJson('/login', { email: user.email, password: 'wrong' });
  await lena.login(user.email, password);
  const page = `/dashboard/users/${user.id}`;
  await admin.submit(`${page}/block`, {});
  await lena.postJson('/login', { email: user.email, password });
  await flushSecurityTrail(service.deps);
  const tab = await html(admin, `/users/${user.id}/activity`);
  expect(sentences(tab)).toEqual([
    'Refused: the account is blocked',
    'Blocked by Ada Lovelace',
    expect.stringMatching(/^Signed in with password/),
    'Wrong password',
  ]);
  for (const words of ['Unblock the user to let them sign in.', 'Blocked</span>', 'If they have forgotten it, send a password reset.'])
    expect(tab).toContain(words);
  expect(tab).toMatch(/href="\/dashboard\/request_traces\?request_id=/);
  const of = async (kind: string) => sentences(await html(admin, `/users/${user.id}/activity?kind=${kind}`));
  expect(await of('refusals')).toEqual(['Refused: the account is blocked', 'Wrong password']);
  expect(await of('changes')).toEqual(['Blocked by Ada Lovelace']);
  expect(await of('sign_ins')).toHaveLength(1);
});

test('a lock says until when, in the list and in what there is now', async () => {
  const user = await addUser(ctx);
  for (let i = 0; i < ctx.environment.lockout_threshold; i++)
    await new Browser(service.url).postJson('/login', { email: user.email, password: `wrong ${i}` });
  await flushSecurityTrail(service.deps);
  const tab = await html(admin, `/users/${user.id}/activity`);
  expect(sentences(tab)).toContainEqual(expect.stringMatching(/^Locked until \d\d:\d\d UTC$/));
  expect(tab.match(/Locked until \d\d:\d\d UTC/g)).toHaveLength(2);
});

test('a change is told once, by the name of whoever made it, on the page of the client; a connection has the same list', async () => {
  const client = await addClient(ctx);
  const made = { target_type: 'client', target_id: client.id, request_id: 'one-request', actor_display: 'Grace' };
  const event = { action: 'client_secret.rotated', event: 'client_secret.rotated', security_event: true } as const;
  const changes = { action: [null, 'client.secret_rotated'] as [null, string] };
  await insertAuditLog(ctx.scope, entry({ ...made, action: 'client.secret_rotated' }), entry({ ...made, ...event, changes }));
  await admin.submit(`/dashboard/clients/${client.id}/revoke_tokens`, {});
  const basic = Buffer.from(`${client.id}:wrong`).toString('base64');
  const refused = {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  };
  await fetch(`${service.url}/oauth/token`, refused);
  await flushSecurityTrail(service.deps);
  expect(sentences(await html(admin, `/clients/${client.id}/activity`))).toEqual([
    'Wrong client credentials',
    'Ada Lovelace was not allowed to revoke the tokens of the client',
    'Client secret rotated by Grace',
  ]);
  const connection = await addConnection(ctx);
  expect(await html(admin, `/connections/${connection.id}/activity`)).toContain('Refused sign-ins, tests and changes');
  const row = {
    action: 'login.failed',
    security_event: true,
    event: 'login.failed',
    outcome: 'failure',
    reason: 'sso_provider_error',
  } as const;
  await insertAuditLog(ctx.scope, entry({ ...row, actor_kind: 'anonymous', target_type: 'connection', target_id: connection.id }));
  expect(sentences(await html(admin, `/connections/${connection.id}/activity`))).toEqual(['The provider did not answer as expected']);
});

test('pages lead on and back, and a kind of which there is little is looked for a bounded part at a time (attack 33.1142)', async () => {
  const user = await addUser(ctx);
  await fill(ctx.scope, user.id, 1_250);
  const seen: string[] = [];
  const texts: string[] = [];
  const end = observeStatements((text) => void texts.push(text));
  let path: string | undefined = `/users/${user.id}/activity?kind=refusals`;
  let pages = 0;
  for (; path !== undefined; pages++) {
    const page: string = await html(admin, path);
    seen.push(...sentences(page));
    path = /<a class="button quiet[^"]*" href="\/dashboard([^"]*after=[^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&');
  }
  end();
  expect(seen).toHaveLength(3);
  expect(pages).toBeLessThanOrEqual(4);
  expect(texts.filter((text) => text.includes('union') && text.includes('audit_logs'))).toHaveLength(pages);
  const first = await html(admin, `/users/${user.id}/activity`);
  const next = /href="\/dashboard([^"]*after=[^"]*)"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const second = await html(admin, next);
  expect([sentences(first).length, sentences(second).length]).toEqual([50, 50]);
  const back = /href="\/dashboard([^"]*before=[^"]*)"/.exec(second)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const ids = (page: string) => [...page.matchAll(/audit_logs\/([0-9a-f-]{36})"/g)].map(([, id]) => id);
  expect(ids(await html(admin, back))).toEqual(ids(first));
  expect(ids(second).some((id) => ids(first).includes(id))).toBe(false);
});

test('who may not read the audit log sees no list, no tab and no name; who may not read users no name that the log hasn’t (attack 33.1140)', async () => {
  const user = await addUser(ctx, { first_name: 'Hidden', last_name: 'Name' });
  const client = await addClient(ctx, { name: 'Seen client' });
  const consent = {
    action: 'consent.given',
    event: 'consent.given',
    security_event: true,
    actor_id: user.id,
    actor_display: user.email,
  } as const;
  await insertAuditLog(ctx.scope, entry({ ...consent, target_type: 'client', target_id: client.id }));
  const without = await signedInWith(service, 'users:read', 'clients:read', 'connections:read');
  for (const path of [`/users/${user.id}`, `/clients/${client.id}`]) {
    expect(await html(without, path)).not.toContain('/activity"');
    expect((await without.get(`/dashboard${path}/activity`)).status).toBe(404);
  }
  const narrow = await signedInWith(service, 'clients:read', 'audit_logs:read');
  const tab = await html(narrow, `/clients/${client.id}/activity`);
  expect(sentences(tab)).toEqual(['Access allowed to Seen client']);
  expect(tab).not.toContain('Hidden Name');
  expect(tab).not.toContain(`/dashboard/users/${user.id}`);
  expect(await html(admin, `/clients/${client.id}/activity`)).toContain('Hidden Name');
  expect(await html(narrow, '/audit_logs')).not.toContain('Hidden Name');
  expect((await narrow.get(`/dashboard/users/${user.id}/activity`)).status).toBe(403);
});

test('a name in a filter finds nobody whom the viewer may not read (attack 33.1141)', async () => {
  const user = await addUser(ctx, { first_name: 'Zoraida', last_name: 'Quist' });
  await insertAuditLog(ctx.scope, entry({ actor_id: user.id, actor_display: null, action: 'role.created', target_type: 'role' }));
  expect(sentences(await html(admin, '/audit_logs?actor=zoraida'))).toEqual(['Role created by Zoraida Quist']);
  expect(sentences(await html(admin, `/audit_logs?actor=${user.id}`))).toEqual(['Role created by Zoraida Quist']);
  const narrow = await signedInWith(service, 'clients:read', 'audit_logs:read');
  expect(sentences(await html(narrow, '/audit_logs?actor=zoraida'))).toEqual([]);
  expect(sentences(await html(narrow, `/audit_logs?actor=${user.id}`))).toHaveLength(1);
});

test('another environment’s entries and names are in no list, and a cursor of one list opens no other (attack 33.1143)', async () => {
  const other = await addEnvironment(service.deps, 'activity-elsewhere');
  const [mine, theirs] = [await addUser(ctx), await addUser(other, { first_name: 'Foreign', last_name: 'Person' })];
  await insertAuditLog(other.scope, entry({ actor_id: theirs.id, target_id: mine.id }));
  await insertAuditLog(ctx.scope, entry({ actor_id: theirs.id, actor_display: null, target_id: mine.id }));
  const tab = await html(admin, `/users/${mine.id}/activity`);
  expect(sentences(tab)).toEqual([`User changed by ${theirs.id}`]);
  expect(tab).not.toContain('Foreign Person');
  const full = await addUser(ctx);
  await fill(ctx.scope, full.id, 60);
  const cursor = /after=([^"&]*)"/.exec(await html(admin, `/users/${full.id}/activity`))?.[1] ?? '';
  expect(cursor).not.toBe('');
  expect(sentences(await html(admin, `/users/${mine.id}/activity?after=${cursor}`))).toHaveLength(1);
});

test('what somebody calls themselves stays text in every sentence (attack 33.1144)', async () => {
  const hostile = '<img src=x onerror=alert(1)>';
  const user = await addUser(ctx, { first_name: hostile, last_name: '' });
  await insertAuditLog(
    ctx.scope,
    entry({ actor_id: user.id, target_id: user.id, action: 'user.blocked', user_agent: hostile, request_id: hostile }),
  );
  await insertAuditLog(ctx.scope, entry({ action: `${hostile}.created`, outcome: 'denied', reason: hostile, target_id: user.id }));
  const tab = await html(admin, `/users/${user.id}/activity`);
  expect(tab).not.toContain('<img');
  expect(tab).toContain('&lt;img');
});

test('who was meant by a name is a choice, which stays with other filters; an id stands for its name (specification 9.2.18)', async () => {
  const user = await addUser(ctx, { first_name: 'Xanthe', last_name: 'Rolfe' });
  await insertAuditLog(ctx.scope, entry({ actor_id: user.id, action: 'role.created', target_type: 'role', target_id: 'r' }));
  const typed = await html(admin, '/audit_logs?target=&actor=xanthe&outcome=success');
  expect(typed).toMatch(/<nav class="looked-up" aria-label="Actor">[\s\S]*Xanthe Rolfe \(User\)/);
  const path = /<nav class="looked-up"[\s\S]*?href="([^"]+)"/.exec(typed)?.[1]?.replaceAll('&amp;', '&').replaceAll('&#38;', '&') ?? '';
  expect(path).toBe(`/dashboard/audit_logs?outcome=success&actor=${user.id}`);
  const chosen = await html(admin, path.replace('/dashboard', ''));
  expect(chosen).toContain(`<option value="${user.id}" selected>Xanthe Rolfe (User)</option>`);
  expect(sentences(chosen)).toEqual(['Role created by Xanthe Rolfe']);
  const narrow = await signedInWith(service, 'audit_logs:read');
  expect(await html(narrow, '/audit_logs?actor=xanthe')).not.toContain('Rolfe');
});

test('the audit log tells a write once; its security event has the other list, and its category (specification 9.2.18)', async () => {
  const client = await addClient(ctx);
  const made = { target_type: 'client', target_id: client.id, request_id: 'told-once', actor_display: 'Grace' };
  const event = { action: 'client_secret.rotated', event: 'client_secret.rotated', security_event: true } as const;
  const byService = { ...made, ...event, actor_kind: 'system' as const, actor_display: 'The service' };
  const changes = { action: [null, 'client.secret_rotated'] as [null, string] };
  await insertAuditLog(ctx.scope, entry({ ...made, action: 'client.secret_rotated' }), entry({ ...made, ...event, changes }));
  expect(sentences(await html(admin, `/audit_logs?target=${client.id}`))).toEqual(['Client secret rotated by Grace']);
  expect(sentences(await html(admin, `/audit_logs?security_event=true&target=${client.id}`))).toEqual(['Client secret rotated by Grace']);
  await insertAuditLog(ctx.scope, entry({ ...byService, changes }));
  expect(sentences(await html(admin, `/audit_logs?target=${client.id}`))).toHaveLength(2);
});

test('beside the list is what the person has now, as far as the viewer may read it', async () => {
  const user = await addUser(ctx, { first_name: 'Nora', last_name: 'Now' });
  const all = await signedInWith(service, ...managementPermissions);
  const now = async (browser: Browser) =>
    /<h2>Now<\/h2>([\s\S]*?)<\/section>/.exec(await html(browser, `/users/${user.id}/activity`))?.[1] ?? '';
  const empty = await now(all);
  for (const label of ['Roles', 'Applications with consent', 'Organizations', 'Sessions', 'Sign-in methods', 'Last sign-in'])
    expect(empty).toContain(`<dt>${label}</dt>`);
  expect(empty).toContain('Never');
  const client = await addClient(ctx, { name: 'Allowed notes' });
  await giveConsent(ctx, { user_id: user.id, client_id: client.id, scopes: ['openid'], resource: null });
  expect(await now(all)).toContain('Allowed notes');
  const narrow = await now(await signedInWith(service, 'users:read', 'audit_logs:read'));
  for (const label of ['Roles', 'Organizations', 'Sessions']) expect(narrow).not.toContain(`<dt>${label}</dt>`);
  expect(narrow).not.toContain('Allowed notes');
});
