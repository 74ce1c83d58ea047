// The pages of the protocol in a real browser under their policies: form_post, consent, logout; with scripts and without.
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { authorizeQuery } from '../support/authorize.js';
import { launchChromium, policyViolations } from '../support/chromium.js';
import { needs } from '../support/programs.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { redeem } from '../support/oauth.js';
import { startRelyingParty, type RelyingParty } from '../support/relying-party.js';
import { startTestService, type TestService } from '../support/service.js';

const test = needs('chromium');

let service: TestService;
let party: RelyingParty;
let chromium: Browser;
let context: BrowserContext;
let page: Page;
let user: UserRow;
let client: TestClient;
let blocked: string[];

beforeAll(async () => {
  [service, party, chromium] = [await startTestService(), await startRelyingParty(), await launchChromium()];
  party.answer = () => ({ headers: { 'content-type': 'text/html' }, body: '<title>The application</title><h1>Back</h1>' });
  user = await addUser(await service.context());
});
afterAll(async () => {
  await chromium?.close();
  await service?.stop();
  await party?.close();
});

async function open(javaScriptEnabled: boolean): Promise<void> {
  context = await chromium.newContext({ javaScriptEnabled });
  page = await context.newPage();
  blocked = policyViolations(page);
}
beforeEach(async () => {
  const redirect_uris = [`${party.origin}/cb`];
  const fields = {
    first_party: false,
    redirect_uris,
    post_logout_redirect_uris: [`${party.origin}/bye`],
    policy_uri: 'https://app.example/privacy',
  };
  client = await addClient(await service.context(), fields);
  party.arrived.length = 0;
});
afterEach(async () => {
  await context?.close();
  expect(blocked).toEqual([]);
});

const authorizeUrl = (extra: Record<string, string> = {}) =>
  `${service.url}/oauth/authorize?${authorizeQuery(client, { scope: 'openid profile email offline_access', ...extra })}`;

async function signIn(): Promise<void> {
  await page.getByLabel('Email address').fill(user.email);
  await page.locator('#password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** What arrived at the callback, by either way. */
const arrivedAt = async (path: string) => party.next((request) => request.path.split('?')[0] === path);

test.each([true, false])('sign in, allow, arrive by redirect (JavaScript: %s)', async (javaScript) => {
  await open(javaScript);
  await page.goto(authorizeUrl());
  await signIn();
  await page.getByRole('heading', { name: 'Allow Acme Notes to access your account?' }).waitFor();
  await page.getByRole('button', { name: 'Allow' }).click();
  const arrived = await arrivedAt('/cb');
  expect([arrived.method, arrived.headers['referer']]).toEqual(['GET', undefined]);
  expect(new URL(arrived.path, party.origin).searchParams.get('state')).toBe('st-1');
});

test('deny: access_denied arrives', async () => {
  await open(true);
  await page.goto(authorizeUrl());
  await signIn();
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect((await arrivedAt('/cb')).path).toContain('error=access_denied');
});

test('form_post posts itself under the policy, after sign-in and consent', async () => {
  await open(true);
  await page.goto(authorizeUrl({ response_mode: 'form_post' }));
  await signIn();
  await page.getByRole('button', { name: 'Allow' }).click();
  const arrived = await arrivedAt('/cb');
  const form = new URLSearchParams(arrived.body);
  expect([arrived.method, arrived.path, arrived.headers['content-type']]).toEqual(['POST', '/cb', 'application/x-www-form-urlencoded']);
  expect([form.get('state'), form.get('iss'), form.get('code')?.startsWith('ac_')]).toEqual(['st-1', service.url, true]);
  await page.getByRole('heading', { name: 'Back' }).waitFor();
});

test('form_post without scripts: a button does it', async () => {
  await open(false);
  await page.goto(authorizeUrl({ response_mode: 'form_post', prompt: 'none' }));
  await page.getByRole('button', { name: 'Continue' }).click();
  const arrived = await arrivedAt('/cb');
  expect([arrived.method, new URLSearchParams(arrived.body).get('error')]).toEqual(['POST', 'login_required']);
});

// The application is at 127.0.0.1, the service at localhost: two sites.
test("a form on the application's own site reaches the session: authorization by cross-site POST", async () => {
  await open(true);
  await page.goto(`${service.url}/login`);
  await signIn();
  await page.getByRole('heading', { level: 1 }).waitFor();
  const own = await addClient(await service.context(), { redirect_uris: [`${party.origin}/cb`] });
  const fields = [...new URLSearchParams(authorizeQuery(own, { prompt: 'none' }))]
    .map(([name, value]) => `<input name="${name}" value="${value}">`)
    .join('');
  party.answer = (request) => ({
    headers: { 'content-type': 'text/html' },
    body:
      request.path === '/start'
        ? `<form method="post" action="${service.url}/oauth/authorize">${fields}<button>Go</button></form>`
        : '<h1>Back</h1>',
  });
  await page.goto(`${party.origin}/start`);
  await page.getByRole('button', { name: 'Go' }).click();
  const arrived = await arrivedAt('/cb');
  expect(new URL(arrived.path, party.origin).searchParams.get('code')).toMatch(/^ac_/);
});

test.each([true, false])('logout: asked, confirmed, back at the application (JavaScript: %s)', async (javaScript) => {
  await open(javaScript);
  await page.goto(`${service.url}/login`);
  await signIn();
  await page.getByRole('heading', { level: 1 }).waitFor();
  const query = new URLSearchParams({ client_id: client.id, post_logout_redirect_uri: `${party.origin}/bye`, state: 's' });
  await page.goto(`${service.url}/oauth/logout?${query.toString()}`);
  await page.getByText('wants to sign you out here too').waitFor();
  await page.getByRole('button', { name: 'Sign out', exact: true }).last().click();
  expect((await arrivedAt('/bye')).path).toBe('/bye?state=s');
  await page.goto(`${service.url}/login`);
  await page.getByLabel('Email address').waitFor();
});

test('logout with an ID token: no question, a page that says so', async () => {
  await open(true);
  const own = await addClient(await service.context(), { redirect_uris: [`${party.origin}/cb`] });
  await page.goto(`${service.url}/oauth/authorize?${authorizeQuery(own)}`);
  await signIn();
  const code = new URL((await arrivedAt('/cb')).path, party.origin).searchParams.get('code') ?? '';
  const tokens = await redeem(service.url, own, { code, verifier: '', redirect_uri: `${party.origin}/cb` }, { code_verifier: '' });
  await page.goto(`${service.url}/oauth/logout?id_token_hint=${String(tokens.body.id_token)}`);
  await page.getByRole('heading', { name: 'You’re signed out' }).waitFor();
});
