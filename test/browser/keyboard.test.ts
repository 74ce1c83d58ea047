import * as openid from 'openid-client';
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { setupUrl } from '../../src/domain/users/setup.js';
import { sharedChromium, reloadUntil } from '../support/chromium.js';
import { needs } from '../support/programs.js';
import { Keyboard } from '../support/keyboard.js';
import { freePort, startTestService, type TestService } from '../support/service.js';
import { close, listen } from '../support/late-receiver.js';

const test = needs('chromium');

const browser = sharedChromium();

const person = { email: 'ada@example.com', password: 'notes on the engine' };

const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });

async function setUp(keys: Keyboard, service: TestService): Promise<void> {
  const { page } = keys;
  await page.goto(setupUrl(await service.context()));
  expect(await keys.focus()).toBe('input#email');
  await keys.press('Enter');
  await keys.mend(field(page, 'Email address'), page.locator('#error-summary a[href="#email"]'));
  await keys.type('root@example.com');
  await keys.fill(field(page, 'First name'), 'Grace');
  await keys.fill(field(page, 'Last name'), 'Hopper');
  await keys.fill(field(page, 'Password'), 'nanoseconds of wire');
  await keys.leave('Enter', '**/dashboard');
}

/** Through the wizard, with a name forgotten at first; answers the client's id and secret. */
async function createClient(keys: Keyboard, redirect_uri: string): Promise<{ id: string; secret: string }> {
  const { page } = keys;
  await keys.skip();
  await keys.follow(link(page, 'Create client'), '**/clients/new');
  await keys.skip();
  await keys.follow(page.getByRole('link', { name: 'Web application' }), '**/clients/new?application_type=web');
  await keys.skip();
  await keys.fill(page.getByRole('textbox', { name: 'Redirect URIs' }), redirect_uri);
  await keys.to(page.locator('summary', { hasText: 'More settings' }));
  await keys.press('Enter');
  await keys.to(page.getByRole('checkbox', { name: 'Authorization code' }));
  await keys.to(button(page, 'Create client'));
  await keys.press('Space');
  await keys.mendOne(page.locator('#name'));
  await keys.type('Acme Notes');
  await keys.to(page.getByRole('textbox', { name: 'Redirect URIs' }));
  expect(await page.getByRole('textbox', { name: 'Redirect URIs' }).inputValue()).toBe(redirect_uri);
  await keys.to(page.locator('#name'), { back: true });
  await keys.press('Enter');
  await page.locator('#secret-client_secret').waitFor();
  await keys.skip();
  // The secret is a stop of its own, so that it can be read and copied without a mouse.
  await keys.to(page.locator('#secret-client_secret'));
  const secret = (await page.locator('#secret-client_secret').textContent()) ?? '';
  await keys.follow(link(page, 'I have saved it'), '**/quick_start');
  return { id: decodeURIComponent(page.url().split('/').at(-2) ?? ''), secret };
}

async function createUser(keys: Keyboard): Promise<void> {
  const { page } = keys;
  await keys.follow(page.locator('#navigation').getByRole('link', { name: 'Users' }), '**/dashboard/users');
  await keys.skip();
  await keys.follow(link(page, 'Create user'), '**/users/new');
  await keys.skip();
  await keys.fill(field(page, 'Email address'), 'ada');
  await keys.press('Enter');
  await keys.mendOne(page.locator('#email'));
  await keys.type(person.email);
  await keys.fill(page.locator('#first_name'), 'Ada');
  await keys.fill(page.locator('#last_name'), 'Lovelace');
  await keys.fill(page.locator('#password'), person.password);
  await keys.leave('Enter', '**/dashboard/users/*?done=created');
}

/** The person's own browser: from the application through the login and back. */
async function signInThrough(
  service: TestService,
  client: { id: string; secret: string },
  redirect_uri: string,
  javaScriptEnabled: boolean,
) {
  const config = await openid.discovery(new URL(service.url), client.id, client.secret, undefined, {
    execute: [openid.allowInsecureRequests],
  });
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const code_challenge = await openid.calculatePKCECodeChallenge(pkceCodeVerifier);
  const to = openid.buildAuthorizationUrl(config, { redirect_uri, scope: 'openid email', code_challenge, code_challenge_method: 'S256' });
  const context = await browser.newContext({ javaScriptEnabled });
  try {
    const keys = new Keyboard(await context.newPage());
    const { page } = keys;
    await page.goto(to.href);
    expect(await keys.focus()).toBe('input#email');
    await keys.type(person.email);
    await keys.fill(field(page, 'Password'), 'a wrong one');
    await keys.press('Enter');
    await page.locator('#error-summary').waitFor();
    expect(await keys.focus()).toContain('div#error-summary');
    await keys.fill(field(page, 'Password'), person.password);
    await keys.to(button(page, 'Sign in'));
    await keys.leave('Space', `${redirect_uri}?*`);
    const tokens = await openid.authorizationCodeGrant(config, new URL(page.url()), { pkceCodeVerifier });
    return (await openid.fetchUserInfo(config, tokens.access_token, tokens.claims()?.sub ?? '')).email;
  } finally {
    await context.close();
  }
}

async function createWebhook(keys: Keyboard, url: string): Promise<void> {
  const { page } = keys;
  await keys.follow(page.locator('#navigation').getByRole('link', { name: 'Webhooks' }), '**/dashboard/webhooks');
  await keys.skip();
  await keys.follow(link(page, 'Create webhook'), '**/webhooks/new');
  await keys.skip();
  await keys.fill(page.locator('#name'), 'Orders');
  await keys.fill(page.locator('#url'), url);
  await keys.press('Enter');
  // No event was chosen: the group of boxes has the focus, and leads on from there.
  await keys.mendOne(page.locator('#events'));
  await keys.to(page.getByRole('checkbox', { name: 'user.created' }));
  await keys.press('Space');
  await keys.to(page.locator('#url'), { back: true });
  await keys.press('Enter');
  await page.locator('#secret-signing_secret').waitFor();
  await keys.skip();
  await keys.follow(link(page, 'I have saved it'), /\/dashboard\/webhooks\/[0-9a-f-]+$/);
}

describe.each([
  ['with scripts', true],
  ['without scripts', false],
])('a keyboard alone, %s', (_name, javaScriptEnabled) => {
  test('goes from an empty database to a signed-in user and a webhook that failed, was resent and arrived', async () => {
    const service = await startTestService({ WEBHOOK_RETRY_BASE_MS: '50', WEBHOOK_RETRY_FACTOR: '1' });
    const context = await browser.newContext({ javaScriptEnabled, viewport: { width: 1280, height: 860 } });
    context.setDefaultTimeout(10_000);
    const application = await listen(await freePort());
    const redirect_uri = `http://127.0.0.1:${(application.server.address() as { port: number }).port}/cb`;
    const receiverPort = await freePort();
    const keys = new Keyboard(await context.newPage());
    const { page } = keys;
    try {
      await setUp(keys, service);
      const client = await createClient(keys, redirect_uri);
      await createUser(keys);
      expect(await signInThrough(service, client, redirect_uri, javaScriptEnabled)).toBe(person.email);

      await createWebhook(keys, `http://127.0.0.1:${receiverPort}/hook`);
      await keys.skip();
      await keys.follow(button(page, 'Send test'), '**/dashboard/webhook_deliveries/*', 'Space');
      await reloadUntil(page, 'Failed');
      const receiver = await listen(receiverPort);
      try {
        await keys.skip();
        await keys.follow(button(page, 'Redeliver'), '**?done=answered');
        await reloadUntil(page, 'Succeeded');
        expect(receiver.posts).toHaveLength(1);
      } finally {
        await close(receiver.server);
      }
      // Both deliveries of the event stand on the page; the failed one is a link away, and its attempts open and close by keyboard.
      await keys.skip();
      await keys.follow(page.locator('#siblings-caption ~ .scroll a.row-link'), /webhook_deliveries\/[0-9a-f-]+$/);
      expect(await page.getByText(/^Attempt \d$/).count()).toBe(6);
      await keys.skip();
      const last = page.locator('details').filter({ hasText: 'Attempt 1' }).locator('summary').last();
      await keys.to(last);
      const details = last.locator('xpath=..');
      const wasOpen = await details.evaluate((element) => element.hasAttribute('open'));
      await keys.press('Enter');
      expect(await details.evaluate((element) => element.hasAttribute('open'))).toBe(!wasOpen);
    } finally {
      await context.close();
      await close(application.server);
      await service.stop();
    }
  }, 120_000);
});
