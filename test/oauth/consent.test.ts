// Consent: asked for, remembered, refused, taken back (OIDC Core 3.1.2.4).
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { withdrawConsent } from '../../src/domain/grants/authorizations.js';
import { transaction } from '../../src/domain/context.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { uuidv7 } from '../../src/lib/random.js';
import { authorizeGet, authorizeQuery, expectRedirectError, sideEffects } from '../support/authorize.js';
import { csrfOf, locationParameters, type Browser } from '../support/browser.js';
import { addClient, addResource, addUser, type TestClient } from '../support/data.js';
import { authorizeCode, claimsOf, redeem, tokenRequest } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
let client: TestClient;
let user: UserRow;
let browser: Browser;

beforeAll(async () => {
  await addResource(await service.context());
});

beforeEach(async () => {
  const ctx = await service.context();
  [client, user] = [await addClient(ctx, { first_party: false, policy_uri: 'https://app.example/privacy' }), await addUser(ctx)];
  browser = await signedIn(service, user);
});

const ask = (extra: Record<string, string | undefined> = {}) =>
  authorizeGet(browser, authorizeQuery(client, { scope: 'openid email', ...extra }));

async function answer(page: Response, decision: string, fields: Record<string, string> = {}, by = browser): Promise<Response> {
  const html = await page.text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
  return by.post('/oauth/consent', { _csrf: csrfOf(html), request, decision, ...fields });
}

const codeOf = (response: Response) => locationParameters(response).get('code');
const isPage = async (response: Response) => response.status === 200 && (await response.clone().text()).includes('id="consent"');

test('the page names application, scopes in words, person, destination and policy', async () => {
  const page = await ask({ scope: 'openid email offline_access' });
  const html = await page.text();
  for (const text of [
    'Acme Notes',
    'See your email address',
    'when you’re offline',
    user.email,
    'app.example',
    'https://app.example/privacy',
  ])
    expect(html).toContain(text);
  expect(page.headers.get('content-security-policy')).toContain("form-action 'self' https://app.example;");
});

test('an application on the device goes by its name, with its address in small print (specification 5.3.4)', async () => {
  for (const [uri, address] of [
    ['cursor://anysphere.cursor-mcp/cb', 'cursor:'],
    ['http://127.0.0.1:7000/cb', '127.0.0.1:7000'],
  ] as const) {
    const native = await addClient(await service.context(), {
      name: 'Cursor',
      first_party: false,
      application_type: 'native',
      redirect_uris: [uri],
    });
    const html = await (await authorizeGet(browser, authorizeQuery(native, { redirect_uri: uri, scope: 'openid' }))).text();
    expect(html).toMatch(/continue to <strong[^>]*>Cursor<\/strong>/);
    expect(html).toContain(`<p class="small-print">Address of the application: ${address}</p>`);
  }
  expect(await (await ask()).text()).not.toContain('Address of the application');
});

test('scopes that read the same are told apart by their names, others are not burdened with them (specification 5.3.4)', async () => {
  const ctx = await service.context();
  const identifier = 'https://api.example/orders';
  const resource = await addResource(ctx, { identifier, name: 'Orders' }, ['orders:read', 'orders:administrate', 'orders:export']);
  const described = service.deps.db.knex('permissions').where({ api_resource_id: resource.id });
  await described.clone().update({ description: 'Your orders' });
  await described.clone().where({ name: 'orders:export' }).update({ description: 'Take your orders along' });
  const html = await (await ask({ scope: 'openid orders:read orders:administrate orders:export', resource: identifier })).text();
  const named = [...html.matchAll(/<code class="small-print">([^<]+)</g)].map(([, name]) => name);
  expect(named).toEqual(['orders:read', 'orders:administrate']);
});

test('yes is remembered: no page the next time, and prompt=none succeeds', async () => {
  expect(codeOf(await answer(await ask(), 'allow'))).toMatch(/^ac_/);
  expect(codeOf(await ask())).toMatch(/^ac_/);
  expect(codeOf(await ask({ prompt: 'none' }))).toMatch(/^ac_/);
  expect(codeOf(await ask({ scope: 'openid' }))).toMatch(/^ac_/);
});

test('a further scope is asked for, and then all of them are remembered', async () => {
  await answer(await ask(), 'allow');
  const more = await ask({ scope: 'openid email phone' });
  expect(await isPage(more)).toBe(true);
  await answer(more, 'allow');
  expect(codeOf(await ask({ scope: 'phone email openid' }))).toMatch(/^ac_/);
});

test('no: access_denied to the client, nothing remembered', async () => {
  const page = await ask();
  const before = await sideEffects(service);
  const refusal = locationParameters(await answer(page, 'deny'));
  expect([refusal.get('error'), refusal.get('state'), refusal.get('iss')]).toEqual(['access_denied', 'st-1', service.url]);
  expect(await sideEffects(service)).toEqual(before);
  expect(await isPage(await ask())).toBe(true);
});

test('prompt=none without consent: consent_required', async () =>
  expectRedirectError(service, client, 'consent_required', () => ask({ prompt: 'none' })));

test('prompt=consent asks again, also for first-party applications', async () => {
  await answer(await ask(), 'allow');
  const again = await ask({ prompt: 'consent' });
  expect(await isPage(again)).toBe(true);
  expect(codeOf(await answer(again, 'allow'))).toMatch(/^ac_/);
  client = await addClient(await service.context());
  expect(codeOf(await ask())).toMatch(/^ac_/);
  expect(await isPage(await ask({ prompt: 'consent' }))).toBe(true);
});

test('claims that are asked for one by one need consent like their scope', async () => {
  await answer(await ask({ scope: 'openid' }), 'allow');
  const page = await ask({ scope: 'openid', claims: JSON.stringify({ userinfo: { phone_number: null } }) });
  expect(await page.clone().text()).toContain('See your phone number');
});

test('a resource and its permissions are asked for separately', async () => {
  await answer(await ask({ scope: 'openid read' }), 'allow');
  const page = await ask({ scope: 'openid read', resource: 'https://api.example/notes' });
  expect(await page.clone().text()).toContain('Act on your behalf at Notes');
  await answer(page, 'allow');
  expect(codeOf(await ask({ scope: 'openid read', resource: 'https://api.example/notes' }))).toMatch(/^ac_/);
  expect(await isPage(await ask({ scope: 'openid write', resource: 'https://api.example/notes' }))).toBe(true);
});

test('withdrawn consent ends refresh tokens, offline_access too, and is asked for again', async () => {
  await answer(await ask({ scope: 'openid email offline_access profile' }), 'allow');
  const tokens = await redeem(service.url, client, await authorizeCode(browser, client, { scope: 'openid offline_access' }));
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.body.refresh_token as string };
  expect((await tokenRequest(service.url, client, refresh)).status).toBe(200);
  expect(await transaction(await service.context(), (tx) => withdrawConsent(tx, user.id, client.id))).toBe(true);
  const refused = await tokenRequest(service.url, client, refresh);
  expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
  expect(await isPage(await ask())).toBe(true);
  expect(await transaction(await service.context(), (tx) => withdrawConsent(tx, user.id, 'nobody'))).toBe(false);
});

test('the form is refused without its token, from another session, altered, or without an answer', async () => {
  const page = await ask();
  const before = await sideEffects(service);
  expect((await answer(page.clone(), 'allow', { _csrf: '' })).status).toBe(403);
  const other = await signedIn(service, await addUser(await service.context()));
  expect((await answer(page.clone(), 'allow', {}, other)).status).toBe(403);
  expect((await answer(page.clone(), 'allow', { request: 'AAAA' })).status).toBe(400);
  expect((await answer(page.clone(), 'perhaps')).status).toBe(400);
  expect(await sideEffects(service)).toEqual(before);
});

test('an hour later the form has expired', async () => {
  const page = await ask();
  service.clock.advance(3_600_001);
  expect((await answer(page, 'allow')).status).toBe(400);
});

test('the answer to consent goes on with the whole request: state, nonce, PKCE, form_post', async () => {
  const page = await ask({ response_mode: 'form_post' });
  const posted = await answer(page, 'allow');
  const html = await posted.text();
  expect([posted.status, html.includes('id="form-post"'), html.includes('value="st-1"')]).toEqual([200, true, true]);
});

test("a token of an application that isn't first-party shows no permission beyond what was allowed", async () => {
  const ctx = await service.context();
  const held = await service.deps.db.knex('permissions').whereIn('name', ['read', 'write']);
  const role = uuidv7(ctx.clock.now().getTime());
  const stamp = { environment_id: ctx.environment.id, created_at: ctx.clock.now(), updated_at: ctx.clock.now() };
  await service.deps.db.knex('roles').insert({ ...stamp, id: role, name: role });
  for (const permission of held as { id: string }[]) {
    await service.deps.db
      .knex('role_permissions')
      .insert({ environment_id: ctx.environment.id, role_id: role, permission_id: permission.id });
  }
  await service.deps.db.knex('user_roles').insert({ environment_id: ctx.environment.id, user_id: user.id, role_id: role });
  const extra = { scope: 'openid read', resource: 'https://api.example/notes' };
  await answer(await ask(extra), 'allow');
  const tokens = await redeem(service.url, client, await authorizeCode(browser, client, extra));
  expect(claimsOf(tokens.body.access_token)['permissions']).toEqual(['read']);
  const refreshed = await tokenRequest(service.url, client, {
    grant_type: 'refresh_token',
    refresh_token: tokens.body.refresh_token as string,
  });
  expect(claimsOf(refreshed.body.access_token)['permissions']).toEqual(['read']);
  const own = await addClient(ctx);
  const first = await redeem(service.url, own, await authorizeCode(browser, own, extra));
  expect(claimsOf(first.body.access_token)['permissions']).toEqual(['read', 'write']);
});
