// Connecting an account at a provider to a local one takes the whole local sign-in: after the password the second step, where one is due.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shared, sharedService } from '../support/shared-service.js';
import { listIdentities } from '../../src/domain/connections/identities.js';
import { deleteConnection, updateConnection, type ConnectionRow } from '../../src/db/tables/connections.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addUser, password } from '../support/data.js';
import { mailTo } from '../support/mailbox.js';
import { giveTotp, totpCode } from '../support/factors.js';
import { loginThrough } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

let upstream: ScriptedUpstream;
let connection: ConnectionRow;

const service = sharedService();
const ctx = shared(() => service.context());
beforeAll(async () => {
  upstream = await ScriptedUpstream.start();
  connection = await addConnection(ctx, { issuer: upstream.url, display_name: 'Corp', account_linking: 'ask' });
});
afterAll(async () => upstream?.close());

/** Somebody whose address the provider knows too, at the page that asks for the local password. */
async function atLinkPage(browser: Browser) {
  const user = await addUser(ctx);
  upstream.claims = { ...upstream.claims, sub: user.id, email: user.email, email_verified: true };
  const page = await loginThrough(browser, connection);
  const html = await page.text();
  expect([page.status, html.includes('Connect Corp')]).toEqual([200, true]);
  const link = /name="link" value="([^"]+)"/.exec(html)?.[1] ?? '';
  return { user, fields: { _csrf: csrfOf(html), link, email: user.email, password } };
}

test('the password alone links nothing and signs nobody in; the code after it does both (attack 25.569)', async () => {
  const browser = new Browser(service.url);
  const { user, fields } = await atLinkPage(browser);
  const { secret } = await giveTotp(ctx, user.id);
  service.clock.advance(60_000);
  const asked = await browser.post('/auth/sso/link', fields);
  expect([asked.status, asked.headers.get('location')]).toEqual([303, '/login/verify']);
  expect([browser.cookies.has('idp_session'), (await listIdentities(ctx, user.id)).length]).toEqual([false, 0]);
  expect((await browser.get('/account')).status).toBe(303);
  const code = { method: 'totp', code: totpCode(secret, service.clock.now()) };
  expect((await browser.postJson('/login/verify', code, { origin: service.url })).status).toBe(200);
  expect((await browser.get('/account')).status).toBe(200);
  expect(await listIdentities(ctx, user.id)).toMatchObject([{ connection_id: connection.id, subject: user.id, proven: true }]);
  expect((await mailTo(service.url, user.email)).map(({ subject }) => subject)).toContainEqual(expect.stringMatching(/with Corp$/));
});

test('given up half-way, or begun elsewhere, nothing is linked later (attack 25.569)', async () => {
  const browser = new Browser(service.url);
  const { user, fields } = await atLinkPage(browser);
  const { secret } = await giveTotp(ctx, user.id);
  await browser.post('/auth/sso/link', fields);
  service.clock.advance(601_000);
  const other = new Browser(service.url);
  const late = { method: 'totp', code: totpCode(secret, service.clock.now()) };
  for (const one of [browser, other]) expect((await one.postJson('/login/verify', late, { origin: service.url })).status).toBe(410);
  expect(await listIdentities(ctx, user.id)).toEqual([]);
});

test('sent twice at the same moment it is linked once', async () => {
  const browser = new Browser(service.url);
  const { user, fields } = await atLinkPage(browser);
  const answers = await Promise.all([1, 2].map(() => browser.post('/auth/sso/link', fields)));
  expect(answers.map(({ status }) => status)).toEqual([303, 303]);
  expect(await listIdentities(ctx, user.id)).toHaveLength(1);
});

test.each([
  ['deleted', (id: string) => deleteConnection(ctx.scope, id)],
  ['disabled', (id: string) => updateConnection(ctx.scope, id, { status: 'disabled' })],
  ['led elsewhere', (id: string) => updateConnection(ctx.scope, id, { issuer: 'https://elsewhere.example' })],
])(
  'a connection that is %s between the password and the code links nothing; the sign-in here goes on (attack 25.645)',
  async (_how, change) => {
    const browser = new Browser(service.url);
    const kept = connection;
    connection = await addConnection(ctx, { issuer: upstream.url, display_name: 'Corp', account_linking: 'ask' });
    const { user, fields } = await atLinkPage(browser);
    const { id } = connection;
    connection = kept;
    const { secret } = await giveTotp(ctx, user.id);
    service.clock.advance(60_000);
    await browser.post('/auth/sso/link', fields);
    await change(id);
    const code = { method: 'totp', code: totpCode(secret, service.clock.now()) };
    expect((await browser.postJson('/login/verify', code, { origin: service.url })).status).toBe(200);
    expect((await browser.get('/account')).status).toBe(200);
    expect(await listIdentities(ctx, user.id)).toEqual([]);
  },
);

test('the page in another language keeps what waits, and links nothing (specification 4.13.3)', async () => {
  const browser = new Browser(service.url);
  const { user, fields } = await atLinkPage(browser);
  const switched = await browser.post('/auth/sso/link', { ...fields, _language: 'de' });
  const html = await switched.text();
  expect([switched.status, html.includes('<html lang="de"'), html.includes(fields.link)]).toEqual([200, true, true]);
  expect(html).toContain('name="_language" value="fr" lang="fr" form="link-account" formnovalidate');
  expect([browser.cookies.has('idp_session'), await listIdentities(ctx, user.id)]).toEqual([false, []]);
  expect((await browser.post('/auth/sso/link', { ...fields, _csrf: csrfOf(html) })).status).toBe(303);
  expect(await listIdentities(ctx, user.id)).toHaveLength(1);
});
