import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { linkIdentity } from '../../src/domain/connections/identities.js';
import { permit } from '../support/administrators.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { codeOf, loginThrough, startAt } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService();
const ctx = contextOf(service);
const upstream = ScriptedUpstream.shared();
let database: pg.Client;
let browser: Browser;
let client: TestClient;
let path: string;

const connection = shared(() => addConnection(ctx, { issuer: upstream.url, display_name: 'Corp' }));

beforeAll(async () => {
  database = new pg.Client({ connectionString: service.databaseUrl });
  await database.connect();
});
afterAll(async () => database?.end());

/** The provider's clock is the real one: sessions age instead. */
const age = () => database.query(`update sessions set authenticated_at = authenticated_at - interval '11 minutes', proofs = '[]'`);
const seconds = () => Math.floor(Date.now() / 1000);
const formsOf = (html: string) => html.slice(html.indexOf('<main'));

beforeEach(async () => {
  const user = await addUser(ctx, { password_hash: null });
  upstream.claims = { ...upstream.claims, sub: user.id, email: user.email, email_verified: true, auth_time: seconds() };
  await linkIdentity(ctx, user.id, { connection_id: connection.id, subject: user.id, email: user.email, claims: {}, generation: 1 });
  await permit(ctx, user.id, 'clients:read', 'clients:write', 'webhooks:read', 'webhooks:write');
  browser = new Browser(service.url);
  await loginThrough(browser, connection);
  client = await addClient(ctx, { name: 'Guarded', first_party: false });
  path = `/dashboard/clients/${client.id}/rotate_secret`;
});

test('an administrator without a password is sent to sign in through the connection, and comes back to a page that works', async () => {
  await age();
  const page = formsOf(await (await browser.get(path)).text());
  expect(page).toContain('Sign in again with Corp');
  expect(page).not.toContain('name="current_password"');
  expect(page).not.toContain('Rotate secret</button>');
  const [, href = ''] = /href="(\/auth\/sso\/[^"]+)"/.exec(page) ?? [];
  const query = Object.fromEntries(new URL(href.replaceAll('&amp;', '&').replaceAll('&#38;', '&'), service.url).searchParams);
  expect(query).toEqual({ prompt: 'login', return_to: path });
  const sent = await startAt(browser, connection, query);
  expect([sent.searchParams.get('prompt'), sent.searchParams.get('max_age')]).toEqual(['login', '0']);
  upstream.claims = { ...upstream.claims, auth_time: seconds() };
  const back = await loginThrough(browser, connection, query);
  expect([back.status, back.headers.get('location')]).toEqual([303, path]);
  const fresh = await (await browser.get(path)).text();
  expect(formsOf(fresh)).not.toContain('Sign in again with Corp');
  const done = await browser.post(path, { _csrf: csrfOf(fresh) });
  expect([done.status, await done.text()]).toEqual([200, expect.stringMatching(/id="secret-client_secret"[^>]*>cs_/)]);
});

test('posting anyway does nothing, with whatever password', async () => {
  const token = csrfOf(await (await browser.get('/dashboard/clients')).text());
  await age();
  for (const fields of [{}, { current_password: password }, { current_password: '' }]) {
    const answer = await browser.post(path, { _csrf: token, ...fields });
    expect([answer.status, formsOf(await answer.text()).includes('Sign in again with Corp')]).toEqual([422, true]);
  }
  const made = await browser.post('/dashboard/webhooks', {
    _csrf: token,
    name: 'x',
    url: 'https://hooks.example',
    'events:user.created': 'on',
  });
  expect(made.status).toBe(422);
  expect(formsOf(await (await browser.get('/dashboard/webhooks/new')).text())).toContain('return_to=%2Fdashboard%2Fwebhooks%2Fnew');
});

test('a provider that goes by an older sign-in renews nothing', async () => {
  await age();
  upstream.claims = { ...upstream.claims, auth_time: seconds() - 3600 };
  const refused = await loginThrough(browser, connection, { prompt: 'login', return_to: path });
  expect([refused.status, await codeOf(refused)]).toEqual([403, 'sso_access_denied']);
  expect(formsOf(await (await browser.get(path)).text())).toContain('Sign in again with Corp');
  // Where nobody asked for a fresh one, an older sign-in is good enough to come in.
  expect((await loginThrough(new Browser(service.url), connection)).status).toBe(303);
});

test('without a usable connection there is the way by mail', async () => {
  await age();
  await database.query(`update connections set status = 'disabled' where id = $1`, [connection.id]);
  ctx.cache.invalidate(ctx.environment.id, 'connections');
  try {
    const page = formsOf(await (await browser.get(path)).text());
    expect(page).not.toContain('/auth/sso/');
    expect(page).toContain('href="/password/forgot"');
  } finally {
    await database.query(`update connections set status = 'enabled' where id = $1`, [connection.id]);
    ctx.cache.invalidate(ctx.environment.id, 'connections');
  }
});
