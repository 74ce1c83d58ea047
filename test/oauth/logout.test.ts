// RP-Initiated Logout 1.0 beyond the certification modules, and Back-Channel Logout 1.0 wherever a session ends.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { endSessions } from '../../src/domain/sessions/sessions.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { backchannelQueue } from '../../src/outbox/back-channel/send.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { authorizeCode, claimsOf, redeem } from '../support/oauth.js';
import { startRelyingParty, type RelyingParty } from '../support/relying-party.js';
import { startTestService, type TestService } from '../support/service.js';
import { signedIn } from '../support/signed-in.js';
import { drain } from '../support/outbox-queue.js';

const postLogout = 'https://app.example/bye';

let service: TestService;
let party: RelyingParty;
let client: TestClient;
let user: UserRow;
let browser: Browser;
let id_token: string;

beforeAll(async () => {
  [service, party] = [await startTestService(), await startRelyingParty()];
});
afterAll(async () => {
  await service?.stop();
  await party?.close();
});

beforeEach(async () => {
  const ctx = await service.context();
  const backchannel_logout_uri = `${party.origin}/${ctx.clock.now().getTime()}`;
  client = await addClient(ctx, { post_logout_redirect_uris: [postLogout], backchannel_logout_uri });
  user = await addUser(ctx);
  browser = await signedIn(service, user);
  id_token = (await redeem(service.url, client, await authorizeCode(browser, client))).body.id_token as string;
  party.answer = () => ({});
});

const logout = (parameters: Record<string, string>, by = browser) => by.get(`/oauth/logout?${new URLSearchParams(parameters).toString()}`);
const isSignedIn = async (by = browser) => (await by.get('/login')).status === 303;
const pathOf = (of: TestClient) => new URL(of.backchannel_logout_uri ?? '').pathname;
const rowOf = async () =>
  (await service.deps.db.knex('backchannel_logouts').where({ client_id: client.id }).first()) as Record<string, unknown>;
const changeRow = (change: object) => service.deps.db.knex('backchannel_logouts').where({ client_id: client.id }).update(change);
/** Milliseconds until the next attempt, by the database's clock. */
async function dueInMs(): Promise<number> {
  const query = service.deps.db.knex('backchannel_logouts').where({ client_id: client.id });
  const rows = await query.select(service.deps.db.knex.raw('extract(epoch from next_attempt_at - now())::float8 * 1000 as ms'));
  return (rows as unknown as { ms: number }[])[0]?.ms ?? Number.NaN;
}
const arrivals = () => party.arrived.filter((request) => request.path === pathOf(client));

async function confirm(page: Response, decision: string, fields: Record<string, string> = {}): Promise<Response> {
  const html = await page.text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
  return browser.post('/oauth/logout/confirm', { _csrf: csrfOf(html), request, decision, ...fields });
}

test('with an ID token of the person: signed out at once, and back with the state; by POST too', async () => {
  const fields = { id_token_hint: id_token, post_logout_redirect_uri: postLogout, state: 'a b' };
  const response = await browser.post('/oauth/logout', fields);
  expect([response.status, response.headers.get('location')]).toEqual([303, `${postLogout}?state=a+b`]);
  expect(await isSignedIn()).toBe(false);
});

test('an expired ID token is still a hint, and nobody signed in is no obstacle', async () => {
  service.clock.advance(2 * 3_600_000);
  const parameters = { id_token_hint: id_token, post_logout_redirect_uri: postLogout };
  expect((await logout(parameters)).headers.get('location')).toBe(postLogout);
  expect((await logout(parameters)).headers.get('location')).toBe(postLogout);
});

test('without a hint the person is asked; yes signs out, and leads back only to a registered address of the named client', async () => {
  const page = await logout({ client_id: client.id, post_logout_redirect_uri: postLogout, state: 's' });
  expect(page.status).toBe(200);
  expect(await isSignedIn()).toBe(true);
  const answer = await confirm(page, 'logout');
  expect([answer.status, answer.headers.get('location')]).toEqual([303, `${postLogout}?state=s`]);
  expect(await isSignedIn()).toBe(false);
});

test('no: still signed in', async () => {
  const answer = await confirm(await logout({}), 'stay');
  expect([answer.status, answer.headers.get('location'), await isSignedIn()]).toEqual([303, '/account', true]);
});

test("somebody else's ID token asks first", async () => {
  const other = await signedIn(service, await addUser(await service.context()));
  const page = await logout({ id_token_hint: id_token, post_logout_redirect_uri: postLogout }, other);
  expect([page.status, await isSignedIn(other)]).toEqual([200, true]);
});

test('contradictions are refused: client_id against hint, a parameter twice, a state without end', async () => {
  const requests = [
    `client_id=another&id_token_hint=${id_token}`,
    `id_token_hint=${id_token}&state=a&state=b`,
    `id_token_hint=${id_token}&state=${'a'.repeat(5_000)}`,
  ];
  for (const query of requests) expect((await browser.get(`/oauth/logout?${query}`)).status).toBe(400);
  expect(await isSignedIn()).toBe(true);
});

test('an address of another client, or of a disabled one, is not gone to', async () => {
  const other = await addClient(await service.context(), { post_logout_redirect_uris: ['https://other.example/bye'] });
  const answer = await logout({ id_token_hint: id_token, post_logout_redirect_uri: 'https://other.example/bye' });
  expect([answer.status, answer.headers.get('location')]).toEqual([200, null]);
  expect(await answer.text()).toMatch(/isn’t registered/);
  const known = await logout({ client_id: other.id, post_logout_redirect_uri: 'https://other.example/bye' });
  expect([known.status, /isn’t registered/.test(await known.text())]).toEqual([200, false]);
});

test('why it doesn’t lead back is said where nothing shows that the request is the application’s (specification 5.9.3)', async () => {
  const unproven = /couldn’t confirm that it started this sign-out, so you’re still here/;
  const unusable = { id_token_hint: `${id_token.slice(0, -4)}AAAA`, client_id: client.id, post_logout_redirect_uri: postLogout };
  // Signed in, the person is asked first.
  expect(await (await confirm(await logout(unusable), 'logout')).text()).toMatch(unproven);
  expect(await (await logout(unusable)).text()).toMatch(unproven);
  expect(await (await logout({ client_id: client.id, post_logout_redirect_uri: postLogout })).text()).toMatch(unproven);
  // Without an address nobody wonders.
  expect(await (await logout({ id_token_hint: unusable.id_token_hint })).text()).not.toMatch(/so you’re still here/);
});

test('the page after a confirmed logout says that the address is not registered (specification 5.9.3)', async () => {
  const page = await logout({ client_id: client.id, post_logout_redirect_uri: `${postLogout}?more` });
  const answer = await confirm(page, 'logout');
  expect([answer.status, /isn’t registered/.test(await answer.text())]).toEqual([200, true]);
});

test('the confirmation is refused without its token or altered, and harmless after the session has ended', async () => {
  const page = await logout({ client_id: client.id, post_logout_redirect_uri: postLogout });
  expect((await confirm(page.clone(), 'logout', { _csrf: 'x' })).status).toBe(403);
  expect((await confirm(page.clone(), 'logout', { request: 'AAAA' })).status).toBe(400);
  expect((await confirm(page.clone(), '')).status).toBe(400);
  expect((await confirm(page.clone(), 'logout')).status).toBe(303);
  expect((await confirm(page.clone(), 'logout')).headers.get('location')).toBe(postLogout);
});

test('a form from another site goes round by a GET (SameSite)', async () => {
  const stranger = new Browser(service.url);
  const foreign = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' };
  const round = await stranger.post('/oauth/logout', { id_token_hint: id_token, post_logout_redirect_uri: postLogout }, foreign);
  expect(round.headers.get('location')?.startsWith('/oauth/logout?id_token_hint=')).toBe(true);
  expect((await browser.get(round.headers.get('location') ?? '')).headers.get('location')).toBe(postLogout);
});

test('every client of the session that listens gets its own logout token, once', async () => {
  const second = await addClient(await service.context(), { backchannel_logout_uri: `${party.origin}/second-${client.id}` });
  const deaf = await addClient(await service.context());
  for (const one of [second, deaf]) await redeem(service.url, one, await authorizeCode(browser, one));
  await browser.submit('/logout', {});
  const arrived = await Promise.all([client, second].map((one) => party.next((request) => request.path === pathOf(one))));
  const claims = arrived.map((request) => claimsOf(new URLSearchParams(request.body).get('logout_token') ?? ''));
  expect(claims.map((one) => one['aud'])).toEqual([client.id, second.id]);
  expect(new Set(claims.map((one) => one['sid']))).toEqual(new Set([claimsOf(id_token)['sid']]));
  expect(new Set(claims.map((one) => one['jti'])).size).toBe(2);
  await expect.poll(async () => (await rowOf())['status']).toBe('delivered');
  await expect.poll(() => service.log.some((line) => line.includes('backchannel_logout.delivered') && line.includes(client.id))).toBe(true);
});

test('wherever a session ends: by a changed password, or by another person who signs in here', async () => {
  const fields = { current_password: password, password: 'another horse battery staple' };
  const elsewhere = await signedIn(service, user);
  await elsewhere.submit('/account', fields, '/account/password');
  await party.next((request) => request.path === pathOf(client));
  expect([arrivals().length, await isSignedIn(), await isSignedIn(elsewhere)]).toEqual([1, false, true]);
});

test('nothing is written when the change that ends the session is rolled back', async () => {
  const ctx = await service.context();
  const failing = transaction(ctx, async (tx) => {
    await endSessions(tx, { user_id: user.id }, 'revoked');
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect([await rowOf(), await isSignedIn()]).toEqual([undefined, true]);
});

test('a refusal is tried again after 5, 20, 60 and 180 s, then given up; the token is fresh each time', async () => {
  party.answer = () => ({ status: 503 });
  await browser.submit('/logout', {});
  const waits = [5_000, 20_000, 60_000, 180_000];
  for (const [attempts, waitMs] of waits.entries()) {
    await expect.poll(async () => (await rowOf())['attempt_count']).toBe(attempts + 1);
    expect((await rowOf())['status']).toBe('pending');
    const due = await dueInMs();
    expect(due).toBeGreaterThan(waits[attempts - 1] ?? 0);
    expect(due).toBeLessThan(waitMs + 4_000);
    await changeRow({ next_attempt_at: service.deps.db.knex.raw('now()') });
    await drain(backchannelQueue(service.deps));
  }
  await expect.poll(async () => (await rowOf())['status']).toBe('failed');
  const row = await rowOf();
  expect([row['attempt_count'], row['last_response_status'], row['last_error'], row['next_attempt_at']]).toEqual([5, 503, 'refused', null]);
  const tokens = arrivals().map((request) => new URLSearchParams(request.body).get('logout_token'));
  expect([tokens.length, new Set(tokens).size]).toEqual([5, 5]);
});

test('a redirect is not followed, a closed port is tried again, a claim that lapsed is taken over', async () => {
  party.answer = () => ({ status: 302, headers: { location: `${party.origin}/elsewhere` } });
  await browser.submit('/logout', {});
  await expect.poll(async () => (await rowOf())['last_response_status']).toBe(302);
  expect(party.arrived.some((request) => request.path === '/elsewhere')).toBe(false);
  const now = service.deps.db.knex.raw('now()');
  await changeRow({ logout_uri: 'http://127.0.0.1:9', next_attempt_at: now });
  await drain(backchannelQueue(service.deps));
  await expect.poll(async () => (await rowOf())['last_error']).toBe('blocked_address');
  const leased_until = service.deps.db.knex.raw("now() + interval '30 seconds'");
  await changeRow({ logout_uri: client.backchannel_logout_uri, next_attempt_at: now, leased_until });
  party.answer = () => ({});
  await drain(backchannelQueue(service.deps));
  expect((await rowOf())['status']).toBe('pending');
  await changeRow({ leased_until: now });
  await drain(backchannelQueue(service.deps));
  await expect.poll(async () => (await rowOf())['status']).toBe('delivered');
});

test('a private address is not asked where private networks are closed', async () => {
  const closed = await startTestService({ ALLOW_PRIVATE_NETWORK: 'off' });
  const ctx = await closed.context();
  const one = await addClient(ctx, { backchannel_logout_uri: `${party.origin}/closed` });
  const person = await addUser(ctx);
  const theirs = await signedIn(closed, person);
  await redeem(closed.url, one, await authorizeCode(theirs, one));
  await theirs.submit('/logout', {});
  await expect
    .poll(
      async () => ((await closed.deps.db.knex('backchannel_logouts').first()) as Record<string, unknown> | undefined)?.['attempt_count'],
    )
    .toBe(1);
  expect(party.arrived.some((request) => request.path === '/closed')).toBe(false);
  await closed.stop();
});

test('the signed-out page offers the way back in', async () => {
  const page = await logout({ id_token_hint: id_token });
  expect(await page.text()).toContain('href="/login"');
});
