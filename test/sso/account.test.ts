// What a signed-in user does with connections, and how an administrator tries one out.
import { beforeEach, describe, expect, test } from 'vitest';
import { connectionTestUrl } from '../../src/domain/connections/connections.js';
import { listIdentities } from '../../src/domain/connections/identities.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { table, update } from '../../src/db/scope.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection, providerSecret } from '../support/connections.js';
import { addUser, password } from '../support/data.js';
import { codeIn, lastMailTo, mailTo } from '../support/mailbox.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { codeOf, loginThrough, startAt, throughProvider } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService();
const ctx = contextOf(service);
const upstream = ScriptedUpstream.shared();
const connection = shared(() => addConnection(ctx, { issuer: upstream.url, account_linking: 'never' }));
let browser: Browser;
let user: UserRow;

beforeEach(async () => {
  browser = new Browser(service.url);
  user = await addUser(ctx);
  await browser.login(user.email, password);
  upstream.claims = { sub: `sub of ${user.id}`, email: 'other@corp.example', email_verified: true, given_name: 'Ada' };
  upstream.instead.clear();
  upstream.requests.length = 0;
});

/** Presses "Connect" on the account page; the address that the page in between leads to. */
async function pressConnect(from = browser, one = connection): Promise<URL> {
  const html = await (await from.get('/account')).text();
  expect(html).toContain(`action="/auth/sso/${one.id}/connect"`);
  const response = await from.post(`/auth/sso/${one.id}/connect`, { _csrf: csrfOf(html) });
  expect(response.status).toBe(200);
  return new URL((response.headers.get('refresh') as string).replace('0; url=', ''));
}

const goBack = (url: URL, from = browser) => from.get(url.pathname + url.search);

describe('connecting', () => {
  test('from the account page, whatever the mode and the address; then it signs in, and can be disconnected', async () => {
    const back = await goBack(await throughProvider(await pressConnect()));
    expect([back.status, back.headers.get('location')]).toEqual([303, '/account?done=connected']);
    const [identity] = await listIdentities(ctx, user.id);
    expect(identity).toMatchObject({ subject: `sub of ${user.id}`, email: 'other@corp.example' });
    const mails = await mailTo(service.url, user.email);
    expect(mails.map(({ subject }) => subject)).toEqual([expect.stringContaining('You can now sign in')]);
    expect((await loginThrough(new Browser(service.url), connection)).headers.get('location')).toBe('/account');
    const html = await (await browser.get('/account')).text();
    expect(html).not.toContain(`/auth/sso/${connection.id}/connect`);
    const gone = await browser.post(`/account/identities/${identity?.id}/unlink`, { _csrf: csrfOf(html) });
    expect(gone.status).toBe(303);
    expect(await listIdentities(ctx, user.id)).toEqual([]);
  });

  test('begun in a session that a recovery ends while the provider takes its time: nothing is connected (attack 14.1056)', async () => {
    const back = await throughProvider(await pressConnect());
    upstream.tokenClaims = { email: undefined };
    let recovered = () => {};
    const recovery = new Promise<void>((resolve) => (recovered = resolve));
    upstream.instead.set('/userinfo', async (_req, res) => {
      await recovery;
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(upstream.claims));
    });
    const answer = goBack(back);
    await expect.poll(() => upstream.asked('/userinfo').length).toBe(1);
    const owner = new Browser(service.url);
    const { reset_id } = (await (await owner.postJson('/password/forgot', { email: user.email })).json()) as { reset_id: string };
    const code = codeIn(await lastMailTo(service.url, user.email));
    expect((await owner.postJson('/password/reset', { reset_id, code, password: 'nine quiet herons by the lake' })).status).toBe(200);
    recovered();
    const refused = await answer;
    upstream.tokenClaims = {};
    expect(await codeOf(refused)).toBe('sso_state_mismatch');
    expect(await listIdentities(ctx, user.id)).toEqual([]);
  });

  test('needs a session and the token of its form: neither a link nor another site can begin it', async () => {
    expect((await browser.get(`/auth/sso/${connection.id}/connect`)).status).toBe(405);
    expect((await browser.post(`/auth/sso/${connection.id}/connect`, {})).status).toBe(403);
    const html = await (await browser.get('/account')).text();
    const foreign = await browser.post(`/auth/sso/${connection.id}/connect`, { _csrf: csrfOf(html) }, { origin: 'https://evil.example' });
    expect(foreign.status).toBe(403);
    const stranger = new Browser(service.url);
    const page = await (await stranger.get('/login')).text();
    const toLogin = await stranger.post(`/auth/sso/${connection.id}/connect`, { _csrf: csrfOf(page) });
    expect([toLogin.status, toLogin.headers.get('location')]).toEqual([303, '/login?return_to=%2Faccount']);
    expect(upstream.requests).toEqual([]);
  });

  test('an account that signs somebody else in stays theirs; one that is connected already stays connected', async () => {
    await goBack(await throughProvider(await pressConnect()));
    const again = await addConnection(ctx, { issuer: upstream.url });
    const other = new Browser(service.url);
    const second = await addUser(ctx);
    await other.login(second.email, password);
    const refused = await goBack(await throughProvider(await pressConnect(other)), other);
    expect([refused.status, await codeOf(refused)]).toEqual([409, 'sso_account_exists']);
    expect(await listIdentities(ctx, second.id)).toEqual([]);
    expect((await goBack(await throughProvider(await pressConnect(other, again)), other)).status).toBe(303);
    expect(await listIdentities(ctx, second.id)).toHaveLength(1);
  });

  test('whoever signs in meanwhile in that browser does not get the account', async () => {
    const back = await throughProvider(await pressConnect());
    const second = await addUser(ctx);
    const html = await (await browser.get('/account')).text();
    await browser.post('/logout', { _csrf: csrfOf(html) });
    await browser.login(second.email, password);
    expect((await goBack(back)).status).toBe(400);
    expect([await listIdentities(ctx, second.id), await listIdentities(ctx, user.id)]).toEqual([[], []]);
    expect(upstream.asked('/token')).toEqual([]);
  });
});

describe('the connection test', () => {
  const state = async () =>
    JSON.stringify(await Promise.all(['users', 'identities', 'sessions'].map((name) => table(ctx.scope, name).orderBy('id'))));

  const mayRead = { permissions: new Set(['connections:write', 'users:read']) };

  /** A login by the test's address; the page it ends on. */
  async function tryOut(one: ConnectionRow, actor = mayRead): Promise<string> {
    const stranger = new Browser(service.url);
    const url = new URL(connectionTestUrl(ctx, actor, one));
    const before = await state();
    const start = await stranger.get(url.pathname + url.search);
    expect(start.status).toBe(303);
    const page = await goBack(await throughProvider(new URL(start.headers.get('location') as string)), stranger);
    expect(page.status).toBe(200);
    expect(await state()).toBe(before);
    expect(stranger.cookies.has('idp_session')).toBe(false);
    return page.text();
  }

  test('shows the claims, the mapping and the user that would result, and changes nothing; a disabled connection too', async () => {
    const fresh = await addConnection(ctx, { issuer: upstream.url, status: 'disabled', claim_mapping: { nickname: 'alias' } });
    upstream.claims = { ...upstream.claims, alias: 'ada <b>', sub: 'tested' };
    const html = await tryOut(fresh);
    expect(html).toContain('This login would create a user with the address other@corp.example.');
    expect(html).toContain('ada &lt;b&gt;');
    expect(html).toMatch(/nickname <code>alias<\/code>/);
    expect(html).not.toContain('access_token');
    expect((await browser.get(`/auth/sso/${fresh.id}`)).status).toBe(404);
  });

  test('says whose account it would be, what it would ask for, and why it would be refused', async () => {
    const asking = await addConnection(ctx, { issuer: upstream.url, account_linking: 'ask' });
    upstream.claims = { ...upstream.claims, email: user.email };
    expect(await tryOut(asking)).toContain(`first ask for the password of ${user.email} (${user.id})`);
    await update<ConnectionRow>(ctx.scope, 'connections', { id: asking.id }, { account_linking: 'verified_email' });
    expect(await tryOut({ ...asking })).toContain(`connect itself to ${user.email}`);
    upstream.claims = { ...upstream.claims, email_verified: false };
    expect(await tryOut(asking)).toMatch(/would be refused[\s\S]*sso_email_unverified/);
  });

  test('without users:read it tells nobody: not whose account an address is, nor what the provider says of the person (attack 22.1018)', async () => {
    const unread = { permissions: new Set(['connections:write', 'connections:read']) };
    const narrow = await addConnection(ctx, { issuer: upstream.url, account_linking: 'ask', claim_mapping: { nickname: 'alias' } });
    upstream.claims = { ...upstream.claims, sub: 'whoever', email: user.email, alias: 'Sparrow' };
    const known = await tryOut(narrow, unread);
    for (const secret of [user.email, user.id, 'whoever', 'Sparrow', 'password of']) expect(known).not.toContain(secret);
    expect(known).toMatch(/nickname <code>alias<\/code><\/dt><dd>found</);
    expect(known).toContain('users:read');
    // The page is the same for an address that nobody has here.
    upstream.claims = { ...upstream.claims, email: 'nobody@corp.example' };
    const bare = (html: string) => html.slice(html.indexOf('id="verdict"'), html.indexOf('</pre>'));
    expect(bare(await tryOut(narrow, unread))).toBe(bare(known));
    expect(await tryOut(narrow)).toContain('nobody@corp.example');
  });

  test('of very many or very long claims it shows the beginning, and says that there are more (attack 22.1018)', async () => {
    const flooding = await addConnection(ctx, { issuer: upstream.url });
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`c${index}`, index]));
    upstream.claims = { ...upstream.claims, groups: Array.from({ length: 2000 }, () => 'group'), nickname: 'n'.repeat(5000), ...many };
    const html = await tryOut(flooding);
    expect(html).toMatch(/n{490,500}\.\.\./);
    expect(html).not.toMatch(/n{501}|(?:group[^a-z]+){200}/);
    expect(html).toMatch(/2\d\d more/);
    expect(html.length).toBeLessThan(60_000);
  });

  test('a login that fails at the provider shows the reason in words, without a secret', async () => {
    const failing = await addConnection(ctx, { issuer: upstream.url });
    upstream.instead.set(
      '/token',
      (_req, res) => void res.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"invalid_client"}'),
    );
    const html = await tryOut(failing);
    expect(html).toMatch(/sso_provider_error[\s\S]*invalid_client/);
    expect(html).not.toContain(providerSecret);
  });

  test('a provider that cannot even be found shows the reason at the start', async () => {
    const lost = await addConnection(ctx, { issuer: `${upstream.url}/nowhere` });
    const url = new URL(connectionTestUrl(ctx, mayRead, lost));
    const html = await (await browser.get(url.pathname + url.search)).text();
    expect(html).toMatch(/sso_provider_error[\s\S]*unexpected HTTP response status code/);
    const plain = await (await browser.get(`/auth/sso/${lost.id}?return_to=%2Faccount`)).text();
    expect(plain).not.toContain('unexpected HTTP');
    expect(plain).toContain('href="/login?return_to=%2Faccount"');
  });

  test('the address is for one connection, and for an hour', async () => {
    const off = await addConnection(ctx, { issuer: upstream.url, status: 'disabled' });
    const ticket = new URL(connectionTestUrl(ctx, mayRead, connection)).searchParams.get('test') as string;
    expect((await browser.get(`/auth/sso/${off.id}?test=${ticket}`)).status).toBe(404);
    expect((await browser.get(`/auth/sso/${off.id}?test=nonsense`)).status).toBe(404);
    const own = new URL(connectionTestUrl(ctx, mayRead, off));
    expect((await browser.get(own.pathname + own.search)).status).toBe(303);
    service.clock.advance(3_601_000);
    expect((await browser.get(own.pathname + own.search)).status).toBe(404);
    expect((await startAt(new Browser(service.url), connection)).origin).toBe(upstream.url);
  });
});
