// `required`: the addresses of a connection's domains sign in through it alone, and nothing else tells them from unknown ones.
import { beforeEach, describe, expect, test } from 'vitest';
import { listIdentities } from '../../src/domain/connections/identities.js';
import { startPasswordReset } from '../../src/domain/credentials/password-reset.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { update } from '../../src/db/scope.js';
import { findUserByEmailKey, type UserRow } from '../../src/db/tables/users.js';
import { uuidv7 } from '../../src/lib/random.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addUser, password } from '../support/data.js';
import { codeIn, lastMailTo, mailTo } from '../support/mailbox.js';
import { contextOf, sharedService, shared } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { codeOf, loginThrough } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService();
const ctx = contextOf(service);
const upstream = ScriptedUpstream.shared();
let user: UserRow;
let unknown: string;

const connection = shared(() =>
  addConnection(ctx, { issuer: upstream.url, display_name: 'Corp', domains: ['corp.example'], required: true, account_linking: 'ask' }),
);
beforeEach(async () => {
  const name = uuidv7(Date.now());
  unknown = `nobody-${name}@corp.example`;
  user = await addUser(ctx, { email: `ada-${name}@Corp.example` });
  upstream.claims = { sub: user.id, email: user.email, email_verified: true };
});

/** Changes the connection, and lets this process know. */
async function set(changes: Partial<ConnectionRow>): Promise<void> {
  await update<ConnectionRow>(ctx.scope, 'connections', { id: connection.id }, changes);
  ctx.cache.invalidate(ctx.environment.id, 'connections');
}

const withoutIds = (text: string, email: string) =>
  text
    .replaceAll(email, 'EMAIL')
    .replaceAll(encodeURIComponent(email), 'EMAIL')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/value="[\w-]{43}"/g, 'TOKEN')
    .replaceAll(/request id[^<]*<[^>]*>[^<]*/gi, 'REQUEST');

/** Status, place and body of the answer, without what is another's at each request. */
async function shape(path: string, email: string, fields: Record<string, string>, json: boolean): Promise<unknown[]> {
  const browser = new Browser(service.url);
  const response = json ? await browser.postJson(path, { email, ...fields }) : await browser.submit(path, { email, ...fields });
  const body = withoutIds(await response.text(), email);
  return [
    response.status,
    withoutIds(response.headers.get('location') ?? '', email),
    body,
    [...browser.cookies.keys()].includes('idp_session'),
  ];
}

describe.each([
  ['/login', { password }],
  ['/login', { password: 'wrong' }],
  ['/login', { password: '' }],
  ['/register', {}],
  ['/password/forgot', {}],
] as [string, Record<string, string>][])('%s with %o', (path, fields) => {
  test.each([true, false])('answers as for an unknown address (JSON: %s) (attack 14.254)', async (json) => {
    const known = await shape(path, user.email, fields, json);
    expect(known).toEqual(await shape(path, unknown, fields, json));
    expect(known.at(-1)).toBe(false);
  });
});

test('the right password leads to the provider like any other, and signs nobody in', async () => {
  const browser = new Browser(service.url);
  const answer = await browser.postJson('/login', { email: user.email, password });
  expect(await answer.json()).toMatchObject({ user: null, redirect_to: expect.stringContaining(`/auth/sso/${connection.id}?`) as string });
  expect(browser.cookies.has('idp_session')).toBe(false);
});

test('registration and recovery say where to go by mail, and their codes are nobody’s (attack 14.254)', async () => {
  const post = async (path: string, body: object) => {
    const response = await new Browser(service.url).postJson(path, body);
    return { status: response.status, body: (await response.json()) as Record<string, string> };
  };
  const registration = await post('/register', { email: unknown });
  expect(registration.status).toBe(202);
  const mail = await lastMailTo(service.url, unknown);
  expect(mail.subject).toContain('Sign in with Corp');
  expect(mail.text).toContain(`${service.url}/auth/sso/${connection.id}`);
  expect(mail.text).not.toMatch(/\b\d{6}\b/);
  service.clock.advance(61_000);
  expect((await post('/register/resend', { registration_id: registration.body['registration_id'] })).status).toBe(202);
  expect((await mailTo(service.url, unknown)).every(({ subject }) => subject.includes('Sign in with Corp'))).toBe(true);

  expect((await post('/password/forgot', { email: user.email })).status).toBe(202);
  expect((await lastMailTo(service.url, user.email)).subject).toContain('Sign in with Corp');
  await post('/password/forgot', { email: unknown });
  expect((await mailTo(service.url, unknown)).filter(({ subject }) => subject.includes('password'))).toEqual([]);
  await startPasswordReset(ctx, user, { initiated_by: 'admin' });
  expect((await mailTo(service.url, user.email)).every(({ subject }) => subject.includes('Sign in with Corp'))).toBe(true);
});

test('what was under way when it became required comes to nothing (attack 14.254)', async () => {
  await set({ required: false });
  const browser = new Browser(service.url);
  const forgot = (await (await browser.postJson('/password/forgot', { email: user.email })).json()) as { reset_id: string };
  const code = codeIn(await lastMailTo(service.url, user.email));
  const register = (await (await browser.postJson('/register', { email: unknown })).json()) as { registration_id: string };
  const registered = { ...register, code: codeIn(await lastMailTo(service.url, unknown)) };
  const { registration_token } = (await (await browser.postJson('/register/verify', registered)).json()) as { registration_token: string };
  await set({ required: true });
  const fresh = 'nine quiet herons by the lake';
  expect((await browser.postJson('/password/reset', { ...forgot, code, password: fresh })).status).toBe(410);
  const named = { first_name: 'A', last_name: 'B', password: fresh };
  expect((await browser.postJson('/register/complete', { registration_token, ...named })).status).toBe(410);
  expect(await findUserByEmailKey(ctx.scope, unknown)).toBeNull();
});

test('the connection signs in: a new person at once, an existing one after the password, once', async () => {
  const browser = new Browser(service.url);
  const html = await (await loginThrough(browser, connection)).text();
  const link = /name="link" value="([^"]+)"/.exec(html)?.[1] ?? '';
  expect((await browser.post('/auth/sso/link', { _csrf: csrfOf(html), link, password })).status).toBe(303);
  expect(await listIdentities(ctx, user.id)).toMatchObject([{ proven: true }]);
  expect((await loginThrough(new Browser(service.url), connection)).status).toBe(303);
  upstream.claims = { sub: unknown, email: unknown, email_verified: true };
  expect((await loginThrough(new Browser(service.url), connection)).status).toBe(303);
});

test('no other connection signs these addresses in, linked or not, nor is one connected', async () => {
  await set({ required: false });
  const other = await addConnection(ctx, { issuer: upstream.url });
  upstream.claims = { sub: user.id, email: 'elsewhere@example.com', email_verified: true };
  const browser = await signedIn(service, user);
  const press = async () => {
    const html = await (await browser.get('/account')).text();
    const leaving = await browser.post(`/auth/sso/${other.id}/connect`, { _csrf: csrfOf(html) });
    const start = await fetch((leaving.headers.get('refresh') as string).replace('0; url=', ''), { redirect: 'manual' });
    const back = new URL(start.headers.get('location') as string);
    return browser.get(back.pathname + back.search);
  };
  expect((await press()).status).toBe(303);
  await set({ required: true });
  const refused = await loginThrough(new Browser(service.url), other);
  expect([refused.status, await codeOf(refused)]).toEqual([403, 'sso_domain_not_allowed']);
  upstream.claims = { ...upstream.claims, sub: `another of ${user.id}` };
  const connecting = await press();
  expect([connecting.status, await codeOf(connecting)]).toEqual([403, 'sso_domain_not_allowed']);
  upstream.claims = { sub: unknown, email: unknown, email_verified: true };
  expect((await loginThrough(new Browser(service.url), other)).status).toBe(403);
});

test('a disabled connection bars nobody', async () => {
  await set({ status: 'disabled' });
  expect((await new Browser(service.url).login(user.email, password)).headers.get('location')).toBe('/account');
  await set({ status: 'enabled' });
  const again = await new Browser(service.url).login(user.email, password);
  expect(again.headers.get('location')).toContain(`/auth/sso/${connection.id}?`);
});

test('an address of another domain is nobody of theirs', async () => {
  const free = await addUser(ctx);
  expect((await new Browser(service.url).login(free.email, password)).headers.get('location')).toBe('/account');
});
