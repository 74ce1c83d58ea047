import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { findUserByEmailKey, updateUser, type UserRow } from '../../src/db/tables/users.js';
import { listIdentities } from '../../src/domain/connections/identities.js';
import { table } from '../../src/db/scope.js';
import { findSession } from '../../src/db/tables/sessions.js';
import { insertRole, listRoleNamesOfUser } from '../../src/db/tables/roles.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { flushDailyStats } from '../../src/jobs/daily-stats.js';
import { insertWebhook } from '../../src/db/tables/webhooks.js';
import { uuidv7 } from '../../src/lib/random.js';
import { Browser, locationParameters, pkcePair } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { claimsOf, redeem } from '../support/oauth.js';
import { freePort } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { codeOf, loginThrough, startAt, throughProvider } from '../support/sso.js';
import { startUpstreamOidc, type UpstreamOidc } from '../support/upstream-oidc.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService();
const ctx = contextOf(service);
let upstream: UpstreamOidc;
const scripted = ScriptedUpstream.shared();
let connection: ConnectionRow;
let client: TestClient;
let browser: Browser;

const ada = {
  sub: 'upstream-ada',
  email: 'ada@corp.example',
  email_verified: true,
  name: 'Ada Lovelace',
  given_name: 'Ada',
  family_name: 'Lovelace',
  locale: 'en',
};

beforeAll(async () => {
  upstream = await startUpstreamOidc({ callback: `${service.url}/auth/sso/callback`, account: ada });
  connection = await addConnection(ctx, { issuer: upstream.issuer });
  client = await addClient(ctx, { first_party: true });
  // Events are kept for those who asked for them.
  const now = ctx.clock.now();
  const secret_sealed = ctx.crypto.sealer.seal('whsec_', 'webhooks/nowhere');
  const times = { created_at: now, updated_at: now };
  await insertWebhook(ctx.scope, {
    id: uuidv7(now.getTime()),
    name: 'w',
    url: 'http://127.0.0.1:9/',
    events: ['*'],
    secret_sealed,
    secret_hint: '',
    ...times,
  });
});
afterAll(async () => upstream?.close());
beforeEach(() => {
  browser = new Browser(service.url);
});

/** The pending authorization request of a stranger, as the login page's `return_to`. */
async function pendingRequest(parameters: Record<string, string> = {}): Promise<{ return_to: string; verifier: string }> {
  const { verifier, challenge } = pkcePair();
  const query = new URLSearchParams({
    response_type: 'code', client_id: client.id, redirect_uri: 'https://app.example/cb', scope: 'openid profile email', state: 's',
    code_challenge: challenge, code_challenge_method: 'S256', ...parameters,
  }); // prettier-ignore
  const toLogin = await browser.get(`/oauth/authorize?${query}`);
  return { return_to: locationParameters(toLogin).get('return_to') ?? '', verifier };
}

test('a first login creates the user, a second finds it; both end in the application with tokens', async () => {
  const ids: string[] = [];
  for (let login = 1; login <= 2; login++) {
    browser = new Browser(service.url);
    const { return_to, verifier } = await pendingRequest();
    const page = await (await browser.get(`/login?return_to=${encodeURIComponent(return_to)}`)).text();
    expect(page).toContain(`/auth/sso/${connection.id}?return_to=`);
    const back = await loginThrough(browser, connection, { return_to });
    expect([back.status, back.headers.get('location')]).toEqual([303, return_to]);
    const toApp = await browser.get(return_to);
    const code = locationParameters(toApp).get('code') as string;
    const answer = await redeem(service.url, client, { code, verifier, redirect_uri: 'https://app.example/cb' });
    expect(answer.status).toBe(200);
    ids.push(claimsOf(answer.body.id_token as string)['sub'] as string);
    const userinfo = await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${answer.body.access_token}` } });
    expect(await userinfo.json()).toMatchObject({
      email: 'ada@corp.example',
      email_verified: true,
      given_name: 'Ada',
      family_name: 'Lovelace',
      locale: 'en',
    });
  }
  expect(ids[0]).toBe(ids[1]);
  const user = await findUserByEmailKey(ctx.scope, 'ada@corp.example');
  expect(user).toMatchObject({ id: ids[0], email_verified: true, password_hash: null, login_count: 2 });
  expect(await listIdentities(ctx, ids[0] as string)).toMatchObject([
    { subject: 'upstream-ada', connection_id: connection.id, email: 'ada@corp.example' },
  ]);
});

test('without a return_to the login ends at /account', async () => {
  const back = await loginThrough(browser, connection);
  expect([back.status, back.headers.get('location')]).toEqual([303, '/account']);
});

test('the provider rotates its keys between two logins, and both succeed; the same under the old kid', async () => {
  const rotating = await addConnection(ctx, { issuer: scripted.url });
  scripted.claims = { sub: 'rotating', email: 'rotating@corp.example', email_verified: true, given_name: 'R', family_name: 'R' };
  expect((await loginThrough(browser, rotating)).status).toBe(303);
  await scripted.rotate();
  expect((await loginThrough(new Browser(service.url), rotating)).status).toBe(303);
  await scripted.rotate(scripted.kid);
  expect((await loginThrough(new Browser(service.url), rotating)).status).toBe(303);
  // Discovery is remembered, keys are asked for only when one is unknown or was replaced.
  expect(scripted.asked('/.well-known/openid-configuration')).toHaveLength(1);
  expect(scripted.asked('/jwks')).toHaveLength(3);
});

test('oidc-provider comes back with other keys: the next login succeeds', async () => {
  const callback = `${service.url}/auth/sso/callback`;
  const first = await startUpstreamOidc({ callback, account: { ...ada, sub: 'r2', email: 'r2@corp.example' } });
  const moving = await addConnection(ctx, { issuer: first.issuer });
  expect((await loginThrough(browser, moving)).status).toBe(303);
  await first.close();
  const second = await startUpstreamOidc({ callback, account: first.account, port: Number(new URL(first.issuer).port) });
  expect((await loginThrough(new Browser(service.url), moving)).status).toBe(303);
  await second.close();
});

test('registration: user.registered with method sso, default roles and the client, in one event', async () => {
  const now = ctx.clock.now();
  const times = { created_at: now, updated_at: now };
  await insertRole(ctx.scope, { id: uuidv7(now.getTime()), name: 'member', is_default: true, ...times });
  upstream.account = {
    ...ada,
    sub: 'grace',
    email: 'Grace@Corp.Example',
    name: 'Grace Brewster Hopper',
    given_name: undefined,
    family_name: undefined,
  };
  const { return_to } = await pendingRequest();
  expect((await loginThrough(browser, connection, { return_to })).status).toBe(303);
  const user = await findUserByEmailKey(ctx.scope, 'grace@corp.example');
  expect(user).toMatchObject({ email: 'Grace@corp.example', first_name: 'Grace Brewster', last_name: 'Hopper' });
  expect(await listRoleNamesOfUser(ctx.scope, user?.id as string)).toEqual(['member']);
  expect((await eventData('user.registered')).slice(-1)).toMatchObject([
    {
      id: user?.id,
      registration_method: 'sso',
      connection_id: connection.id,
      client_id: client.id,
      roles: ['member'],
      email_verified: true,
    },
  ]);
  upstream.account = ada;
});

async function eventData(event_type: string): Promise<Record<string, unknown>[]> {
  const rows = await table<{ event_type: string; body: string }>(ctx.scope, 'events')
    .where({ event_type } as never)
    .orderBy('occurred_at');
  return rows.map((row) => (JSON.parse(row.body) as { data: Record<string, unknown> }).data);
}

test('login_hint, prompt and max_age of the application reach the provider; nothing else of its request does', async () => {
  const { return_to } = await pendingRequest({ login_hint: 'hint@corp.example', prompt: 'login', max_age: '60', acr_values: 'ours' });
  const url = await startAt(browser, connection, { return_to });
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    login_hint: 'hint@corp.example', prompt: 'login', max_age: '60', code_challenge_method: 'S256', response_type: 'code',
    scope: 'openid email profile', redirect_uri: `${service.url}/auth/sso/callback`, client_id: 'the-service',
  }); // prettier-ignore
  expect(url.searchParams.get('acr_values')).toBeNull();
  expect((await startAt(browser, connection, { login_hint: 'own@corp.example' })).searchParams.get('login_hint')).toBe('own@corp.example');
});

test('prompt=login is satisfied by a login through the provider that says when; amr and acr are kept as its own', async () => {
  const oidc = await addConnection(ctx, { issuer: scripted.url });
  scripted.claims = {
    sub: 'amr',
    email: 'amr@corp.example',
    email_verified: true,
    given_name: 'A',
    amr: ['pwd', 'otp', 7, 'x'.repeat(100)],
    acr: 'urn:corp:gold',
    auth_time: Math.floor(Date.now() / 1000),
  };
  await loginThrough(browser, oidc);
  const { return_to, verifier } = await pendingRequest({ prompt: 'login' });
  await loginThrough(browser, oidc, { return_to });
  const code = locationParameters(await browser.get(return_to)).get('code') as string;
  const answer = await redeem(service.url, client, { code, verifier, redirect_uri: 'https://app.example/cb' });
  const claims = claimsOf(answer.body.id_token as string);
  expect(claims).not.toHaveProperty('amr');
  // Our own acr is for our own clients; what the provider said stays with the session.
  const apart = { amr: [], acr: null, provider_amr: ['pwd', 'otp'], provider_acr: 'urn:corp:gold' };
  expect(await findSession(ctx.scope, claims['sid'] as string)).toMatchObject(apart);
});

test('two first logins of one person at the same moment make one user', async () => {
  upstream.account = { ...ada, sub: 'twin', email: 'twin@corp.example' };
  const browsers = Array.from({ length: 4 }, () => new Browser(service.url));
  const backs = await Promise.all(browsers.map(async (one) => throughProvider(await startAt(one, connection))));
  const answers = await Promise.all(browsers.map((one, index) => one.get((backs[index] as URL).pathname + (backs[index] as URL).search)));
  expect(answers.map((answer) => answer.status)).toEqual([303, 303, 303, 303]);
  const user = await findUserByEmailKey(ctx.scope, 'twin@corp.example');
  expect(await listIdentities(ctx, user?.id as string)).toHaveLength(1);
  upstream.account = ada;
});

test('profile_sync: never takes no names, on_login follows them and says so, the address stays', async () => {
  const never = await addConnection(ctx, { issuer: scripted.url, profile_sync: 'never' });
  scripted.claims = { sub: 'n', email: 'never@corp.example', email_verified: true, given_name: 'New', family_name: 'Name' };
  await loginThrough(browser, never);
  expect(await findUserByEmailKey(ctx.scope, 'never@corp.example')).toMatchObject({ first_name: null, last_name: null });

  const always = await addConnection(ctx, {
    issuer: scripted.url,
    profile_sync: 'on_login',
    claim_mapping: { nickname: 'profile.alias', given_name: 'vorname' },
  });
  scripted.claims = {
    sub: 'a',
    email: 'always@corp.example',
    email_verified: true,
    vorname: 'Old',
    family_name: 'Name',
    profile: { alias: 'al' },
  };
  await loginThrough(new Browser(service.url), always);
  expect(await findUserByEmailKey(ctx.scope, 'always@corp.example')).toMatchObject({ first_name: 'Old', nickname: 'al', profile: null });
  scripted.claims = { ...scripted.claims, vorname: 'New', email: 'moved@corp.example' };
  await loginThrough(new Browser(service.url), always);
  expect(await findUserByEmailKey(ctx.scope, 'always@corp.example')).toMatchObject({ first_name: 'New', email: 'always@corp.example' });
  expect(await eventData('user.updated')).toMatchObject([{ first_name: 'New', previous_attributes: { first_name: 'Old' } }]);
});

test('profile_sync: another phone number of the provider is unproven, the same one stays proven (attack 11.269)', async () => {
  const claim_mapping = { phone_number: 'phone_number' };
  const synced = await addConnection(ctx, { issuer: scripted.url, profile_sync: 'on_login', claim_mapping });
  const claims = { sub: 'p', email: 'phone@corp.example', email_verified: true, given_name: 'Ph', family_name: 'One' };
  scripted.claims = { ...claims, phone_number: '+442079460000' };
  await loginThrough(new Browser(service.url), synced);
  const stored = async () => (await findUserByEmailKey(ctx.scope, 'phone@corp.example')) as UserRow;
  await updateUser(ctx.scope, (await stored()).id, { phone_number_verified: true });
  await loginThrough(new Browser(service.url), synced);
  expect((await stored()).phone_number_verified).toBe(true);
  scripted.claims = { ...claims, phone_number: '+442079460001' };
  await loginThrough(new Browser(service.url), synced);
  expect(await stored()).toMatchObject({ phone_number: '+442079460001', phone_number_verified: false });
  expect((await eventData('user.updated')).at(-1)).toMatchObject({
    previous_attributes: { phone_number: '+442079460000', phone_number_verified: true },
  });
});

test('registration is refused where the environment or the connection closes it; who is known gets in', async () => {
  const closed = await addConnection(ctx, { issuer: scripted.url, allow_registration: false });
  scripted.claims = { sub: 'closed', email: 'closed@corp.example', email_verified: true };
  const refused = await loginThrough(browser, closed);
  expect([refused.status, await codeOf(refused)]).toEqual([403, 'registration_disabled']);
  await addUser(ctx, { email: 'closed@corp.example' });
  expect((await loginThrough(browser, closed)).status).toBe(303);
});

test('home-realm discovery: an address of the domain goes straight to the connection; a local password still works', async () => {
  const corp = await addConnection(ctx, { issuer: upstream.issuer, domains: ['Realm.Example', 'xn--bcher-kva.example'] });
  for (const email of ['Someone@REALM.example', 'x@bücher.example']) {
    const answer = await new Browser(service.url).submit('/login', { email, password: '', return_to: '/account?x=1' });
    expect(answer.status).toBe(303);
    const url = new URL(answer.headers.get('location') as string, service.url);
    expect(url.pathname).toBe(`/auth/sso/${corp.id}`);
    expect(Object.fromEntries(url.searchParams)).toEqual({ from: 'form', login_hint: email, return_to: '/account?x=1' });
    const next = await browser.get(url.pathname + url.search);
    expect(new URL(next.headers.get('location') as string).searchParams.get('login_hint')).toBe(email);
    const inBrowser = await browser.get(url.pathname + url.search, { 'sec-fetch-dest': 'document' });
    expect([inBrowser.status, inBrowser.headers.get('refresh')?.startsWith(`0; url=${upstream.issuer}/`)]).toEqual([200, true]);
  }
  const wrong = await browser.submit('/login', { email: 'someone@realm.example', password: 'wrong' });
  expect(wrong.headers.get('location')).toContain(`/auth/sso/${corp.id}?`);
  const json = await browser.postJson('/login', { email: 'someone@realm.example', password: '' });
  expect(await json.json()).toMatchObject({ user: null, redirect_to: expect.stringContaining(`/auth/sso/${corp.id}?`) as string });
  await addUser(ctx, { email: 'admin@realm.example' });
  expect((await browser.login('admin@realm.example', password)).headers.get('location')).toBe('/account');
  const other = await new Browser(service.url).submit('/login', { email: 'someone@other.realm.example', password: 'wrong' });
  expect(other.status).toBe(401);
});

test('signed in as somebody else before: that session ends, the cookie is a new one', async () => {
  await addUser(ctx, { email: 'before@example.com' });
  await browser.login('before@example.com', password);
  const before = browser.cookies.get('idp_session');
  await loginThrough(browser, connection);
  expect(browser.cookies.get('idp_session')).not.toBe(before);
  const old = new Browser(service.url);
  old.cookies.set('idp_session', before as string);
  expect((await old.get('/login')).status).toBe(200);
});

test('a browser that came by another name of the service goes to the one that providers send it back to', async () => {
  const elsewhere = service.url.replace('localhost', '127.0.0.1');
  const asBrowser = { redirect: 'manual', headers: { 'sec-fetch-dest': 'document' } } as const;
  const moved = await fetch(`${elsewhere}/auth/sso/${connection.id}?return_to=%2Faccount`, asBrowser);
  const location = moved.headers.get('location') as string;
  expect(location).toBe(`${service.url}/auth/sso/${connection.id}?return_to=%2Faccount&moved=1`);
  // Once only: whoever still comes by the other name isn't sent in circles.
  const again = await fetch(location.replace('localhost', '127.0.0.1'), asBrowser);
  expect(new URL(again.headers.get('location') as string).origin).toBe(upstream.issuer);
});

test('a secret that this key does not open, or an endpoint that is no address: 502, not a failure of ours', async () => {
  const sealedElsewhere = await addConnection(ctx, { issuer: upstream.issuer, provider_client_secret_sealed: Buffer.alloc(60) });
  const broken = await addConnection(ctx, {
    strategy: 'oauth2',
    issuer: null,
    authorization_endpoint: 'javascript:alert(1)',
    token_endpoint: 'x',
    userinfo_endpoint: 'x',
  });
  for (const one of [sealedElsewhere, broken]) {
    const response = await browser.get(`/auth/sso/${one.id}`);
    expect([response.status, await codeOf(response)]).toEqual([502, 'sso_provider_error']);
  }
});

test('what came of asking the provider is counted by day and connection; a person who says no is nobody’s failure', async () => {
  const counts = async (label: string) => {
    await flushDailyStats(service.deps);
    const rows = (await ctx.db.knex('daily_stats').where({ label }).orderBy('name')) as { name: string; count: string }[];
    return rows.map(({ name, count }) => `${name} ${count}`);
  };
  const own = await addConnection(ctx, { issuer: scripted.url });
  await loginThrough(browser, own);
  expect(await counts(own.id)).toEqual(['sso_succeeded 1']);
  const state = async () => (await startAt(browser, own)).searchParams.get('state') as string;
  await browser.get(`/auth/sso/callback?${new URLSearchParams({ state: await state(), error: 'access_denied', iss: scripted.url })}`);
  expect(await counts(own.id)).toEqual(['sso_succeeded 1']);
  await browser.get(`/auth/sso/callback?${new URLSearchParams({ state: await state(), error: 'server_error', iss: scripted.url })}`);
  expect(await counts(own.id)).toEqual(['sso_failed 1', 'sso_succeeded 1']);
  const away = await addConnection(ctx, { issuer: `http://127.0.0.1:${await freePort()}` });
  expect((await browser.get(`/auth/sso/${away.id}`)).status).toBe(502);
  expect(await counts(away.id)).toEqual(['sso_failed 1']);
});
