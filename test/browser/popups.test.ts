// Sign-in and sign-out in a popup, as single-page applications have it: the application holds on to the window that it opens.
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { launchChromium } from '../support/chromium.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { needs } from '../support/programs.js';
import { startRelyingParty, type RelyingParty } from '../support/relying-party.js';
import { startTestService, type TestService } from '../support/service.js';

const test = needs('chromium');

let service: TestService;
let party: RelyingParty;
let chromium: Browser;
let page: Page;
let user: UserRow;
let client: TestClient;

const library = readFileSync(new URL('../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url), 'utf8');

/** What the application serves: a page with two buttons, and what the popup ends at. */
function application(path: string): { headers: Record<string, string>; body: string } {
  if (path === '/oidc-client-ts.js') return { headers: { 'content-type': 'text/javascript' }, body: library };
  const settings = {
    authority: service.url,
    client_id: client.id,
    redirect_uri: `${party.origin}/signed-in`,
    popup_redirect_uri: `${party.origin}/signed-in`,
    popup_post_logout_redirect_uri: `${party.origin}/signed-out`,
    scope: 'openid profile email',
    loadUserInfo: true,
  };
  const callback: Record<string, string> = {
    '/signed-in': 'manager.signinPopupCallback()',
    '/signed-out': 'manager.signoutPopupCallback()',
  };
  const start = `
    const show = (text) => { document.querySelector('output').textContent = text; };
    const failed = (error) => show('failed: ' + error.message);
    document.querySelector('#in').onclick = () => manager.signinPopup().then((user) => show('signed in: ' + user.profile.email), failed);
    document.querySelector('#out').onclick = () => manager.signoutPopup().then(() => show('signed out'), failed);`;
  const body = `<!doctype html><title>The application</title><button id="in">Sign in</button><button id="out">Sign out</button><output></output>
    <script src="/oidc-client-ts.js"></script>
    <script>const manager = new oidc.UserManager(${JSON.stringify(settings)}); ${callback[path.split('?')[0] as string] ?? start}</script>`;
  return { headers: { 'content-type': 'text/html' }, body };
}

beforeAll(async () => {
  [service, party, chromium] = [await startTestService(), await startRelyingParty(), await launchChromium()];
  party.answer = ({ path }) => application(path);
  client = await addClient(await service.context(), {
    application_type: 'spa',
    token_endpoint_auth_method: 'none',
    first_party: false,
    redirect_uris: [`${party.origin}/signed-in`],
    post_logout_redirect_uris: [`${party.origin}/signed-out`],
    allowed_origins: [party.origin],
  });
});
afterAll(async () => {
  await chromium?.close();
  await service?.stop();
  await party?.close();
});
beforeEach(async () => {
  user = await addUser(await service.context());
  page = await (await chromium.newContext()).newPage();
  await page.goto(`${party.origin}/`);
});
afterEach(async () => page?.context().close());

/** Presses a button of the application and hands back the window that opens. */
async function popupOf(button: '#in' | '#out'): Promise<Page> {
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click(button)]);
  return popup;
}

const told = (text: string) => page.locator('output', { hasText: text }).waitFor();

async function signIn(popup: Page, secret = password): Promise<void> {
  await popup.getByLabel('Email address').fill(user.email);
  await popup.locator('#password').fill(secret);
  await popup.getByRole('button', { name: 'Sign in', exact: true }).click();
}

test('oidc-client-ts signs in and out in popups, past a wrong password and the consent page', async () => {
  const popup = await popupOf('#in');
  await signIn(popup, 'not the password');
  await popup.locator('[role="alert"]').first().waitFor();
  await signIn(popup);
  await popup.getByRole('button', { name: 'Allow' }).click();
  await told(`signed in: ${user.email}`);
  await popupOf('#out');
  await told('signed out');
});

test('a refusal on the way is the application’s to know as well', async () => {
  const popup = await popupOf('#in');
  await signIn(popup);
  await popup.getByRole('button', { name: 'Cancel' }).click();
  await told('failed: the person did not allow it');
});

test('every page of the sign-in can be reached by the opener; what is not part of it cuts itself off', async () => {
  const popup = await popupOf('#in');
  await popup.getByRole('link', { name: 'Forgot your password?' }).click();
  await popup.getByRole('heading', { level: 1, name: /password/i }).waitFor();
  expect(await popup.evaluate(() => window.opener !== null)).toBe(true);
  for (const path of ['/login', '/login?return_to=%2Faccount', '/dashboard']) {
    const [other] = await Promise.all([page.waitForEvent('popup'), page.evaluate((url) => void window.open(url), `${service.url}${path}`)]);
    await other.waitForLoadState();
    expect([path, await other.evaluate(() => window.opener === null)]).toEqual([path, true]);
    await other.close();
  }
});
