import * as openid from 'openid-client';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { setupUrl } from '../../src/domain/users/setup.js';
import { axeViolations } from '../support/axe.js';
import { sharedChromium, reloadUntil } from '../support/chromium.js';
import { needs } from '../support/programs.js';
import { freePort, startTestService, type TestService } from '../support/service.js';
import { close, listen } from '../support/late-receiver.js';

const test = needs('chromium');

const browser = sharedChromium();

const administrator = { email: 'root@example.com', password: 'nanoseconds of wire' };
const person = { email: 'ada@example.com', password: 'notes on the engine' };
/** Deliveries fail for good within two seconds. */
const hasty = { WEBHOOK_RETRY_BASE_MS: '50', WEBHOOK_RETRY_FACTOR: '1' };

type Story = { service: TestService; context: BrowserContext; page: Page; complaints: string[] };

/** A fresh service and a browser that notes what its console and the page's policy complain about. */
async function begin(javaScriptEnabled: boolean): Promise<Story> {
  const service = await startTestService(hasty);
  const context = await browser.newContext({ javaScriptEnabled, viewport: { width: 1280, height: 860 }, permissions: [] });
  const complaints: string[] = [];
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  return { service, context, page: await context.newPage(), complaints };
}

async function setUp({ service, page }: Story): Promise<void> {
  await page.goto(setupUrl(await service.context()));
  await page.getByLabel('Email address').fill(administrator.email);
  await page.getByLabel('First name').fill('Grace');
  await page.getByLabel('Last name').fill('Hopper');
  await page.getByLabel('Password', { exact: true }).fill(administrator.password);
  await page.getByRole('button', { name: 'Create administrator' }).click();
  await page.waitForURL('**/dashboard');
}

async function createClient({ page, service }: Story, redirect_uri: string): Promise<{ id: string; secret: string }> {
  await page.goto(`${service.url}/dashboard`);
  await page.getByRole('link', { name: 'Create client' }).click();
  await page.getByRole('link', { name: 'Web application' }).click();
  await page.getByLabel('Name').fill('Acme Notes');
  await page.getByRole('textbox', { name: 'Redirect URIs' }).first().fill(redirect_uri);
  await page.getByRole('button', { name: 'Create client' }).click();
  const secret = (await page.locator('#secret-client_secret').textContent()) ?? '';
  expect(secret).toMatch(/^cs_/);
  expect(page.url()).not.toContain(secret);
  await page.getByRole('link', { name: 'I have saved it' }).click();
  await page.waitForURL('**/quick_start');
  expect(await page.content()).not.toContain(secret);
  return { id: decodeURIComponent(page.url().split('/').at(-2) ?? ''), secret };
}

async function createUser({ page, service }: Story): Promise<void> {
  await page.goto(`${service.url}/dashboard/users/new`);
  await page.getByLabel('Email address').fill(person.email);
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('Lovelace');
  await page.getByLabel('Password').fill(person.password);
  await page.getByRole('button', { name: 'Create user' }).click();
  await page.waitForURL('**/dashboard/users/*?done=created');
}

/** Signs the person in through the client, as its application would. */
async function signInThrough(
  { service }: Story,
  client: { id: string; secret: string },
  redirect_uri: string,
): Promise<string | undefined> {
  const config = await openid.discovery(new URL(service.url), client.id, client.secret, undefined, {
    execute: [openid.allowInsecureRequests],
  });
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const code_challenge = await openid.calculatePKCECodeChallenge(pkceCodeVerifier);
  const to = openid.buildAuthorizationUrl(config, { redirect_uri, scope: 'openid email', code_challenge, code_challenge_method: 'S256' });
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(to.href);
  await page.getByLabel('Email address').fill(person.email);
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${redirect_uri}?*`);
  const tokens = await openid.authorizationCodeGrant(config, new URL(page.url()), { pkceCodeVerifier });
  await context.close();
  return (await openid.fetchUserInfo(config, tokens.access_token, tokens.claims()?.sub ?? '')).email;
}

async function createWebhook({ page, service }: Story, url: string): Promise<void> {
  await page.goto(`${service.url}/dashboard/webhooks`);
  await page.getByRole('link', { name: 'Create webhook' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Orders');
  await page.getByLabel('URL', { exact: true }).fill(url);
  await page.getByLabel('user.created').check();
  await page.getByRole('button', { name: 'Create webhook' }).click();
  const secret = (await page.locator('#secret-signing_secret').textContent()) ?? '';
  expect(secret).toMatch(/^whsec_/);
  // The form counts once: sending it again leads to the webhook, which shows the hint alone.
  await page.reload();
  await page.waitForURL('**/dashboard/webhooks/*?done=already_sent');
  expect(await page.content()).not.toContain(secret);
  expect(await page.locator('main').textContent()).toContain(`whsec_…${secret.slice(-4)}`);
}

describe.each([
  ['with scripts', true],
  ['without scripts', false],
])('from an empty database, %s', (_name, javaScriptEnabled) => {
  test('to a signed-in user and a webhook that failed, was resent and arrived', async () => {
    const story = await begin(javaScriptEnabled);
    const { service, page, complaints, context } = story;
    const application = await listen(await freePort());
    const redirect_uri = `http://127.0.0.1:${(application.server.address() as { port: number }).port}/cb`;
    const receiverPort = await freePort();
    try {
      await setUp(story);
      expect(await page.locator('main').textContent()).toContain('What to do first');
      const client = await createClient(story, redirect_uri);
      await createUser(story);
      expect(await signInThrough(story, client, redirect_uri)).toBe(person.email);
      await page.goto(`${service.url}/dashboard`);
      expect(await page.locator('main').textContent()).not.toContain('What to do first');

      await createWebhook(story, `http://127.0.0.1:${receiverPort}/hook`);
      await page.getByRole('button', { name: 'Send test' }).click();
      await page.waitForURL('**/dashboard/webhook_deliveries/*');
      await reloadUntil(page, 'Failed');
      expect(await page.locator('main').textContent()).toContain('No connection: nothing listens there');
      expect(await page.getByText(/^Attempt \d$/).count()).toBe(6);

      const receiver = await listen(receiverPort);
      try {
        await page.getByRole('button', { name: 'Redeliver', exact: true }).click();
        await page.waitForURL('**?done=answered');
        await reloadUntil(page, 'Succeeded');
        expect(receiver.posts).toHaveLength(1);
        const outcomes = await page.locator('.list tbody tr .state').allTextContents();
        expect(outcomes.map((text) => text.trim()).sort()).toEqual(['Failed', 'Succeeded']);
        expect(await page.locator('#attempts-0').textContent()).toContain('thank you');
      } finally {
        await close(receiver.server);
      }
      await page.getByRole('link', { name: 'All deliveries of this webhook' }).click();
      expect(await page.locator('tbody tr').count()).toBe(2);
      expect(complaints).toEqual([]);
    } finally {
      await context.close();
      await close(application.server);
      await service.stop();
    }
  }, 120_000);
});

describe('every page', () => {
  let story: Story;
  beforeAll(async () => {
    story = await begin(true);
    const { service } = story;
    await setUp(story);
    await createUser(story);
    await createWebhook(story, `http://127.0.0.1:${await freePort()}/hook`);
    await story.page.getByRole('button', { name: 'Send test' }).click();
    await story.page.waitForURL('**/dashboard/webhook_deliveries/*');
    await createClient({ ...story, page: story.page, service }, 'http://localhost:3001/cb');
  });
  afterAll(async () => {
    await story?.context.close();
    await story?.service.stop();
  });

  /** The pages that a person reaches from the navigation: lists, forms, records, tabs, questions. */
  async function allPages(): Promise<string[]> {
    const { page, service } = story;
    const hrefs = (selector: string) =>
      page.locator(selector).evaluateAll((links) => links.map((link) => (link as unknown as { pathname: string }).pathname));
    await page.goto(`${service.url}/dashboard`);
    const entries = (await hrefs('#navigation ul a')).filter((path) => path.startsWith('/dashboard'));
    expect(entries.length).toBeLessThan(14);
    const lists = new Set(entries);
    for (const entry of entries) {
      await page.goto(service.url + entry);
      for (const path of await hrefs('.tabs a, .tiles a')) lists.add(path);
    }
    for (const path of ['permissions', 'client_grants', 'event_types', 'signing_keys', 'doctor', 'self_registered_clients'])
      expect([...lists]).toContain(`/dashboard/${path}`);
    const found = new Set(lists);
    for (const list of lists) {
      await page.goto(service.url + list);
      for (const path of await hrefs('.head-actions a, .empty a')) found.add(path);
      const [record] = await hrefs('a.row-link');
      if (record === undefined || list === '/dashboard') continue;
      found.add(record);
      await page.goto(service.url + record);
      for (const path of await hrefs('.tabs a, .head-actions a, .dangers a')) found.add(path);
    }
    return [...found, '/dashboard/clients/new?application_type=spa', '/dashboard/connections/new?strategy=google', '/dashboard/nowhere'];
  }

  test('has nothing that axe-core objects to, in both schemes, and fits a narrow phone', async () => {
    const { page, service, complaints } = story;
    const paths = await allPages();
    expect(paths.length).toBeGreaterThan(50);
    const objections: string[] = [];
    for (const [index, path] of paths.entries()) {
      await page.setViewportSize(index % 2 === 0 ? { width: 1280, height: 860 } : { width: 320, height: 568 });
      await page.emulateMedia({ colorScheme: index % 3 === 0 ? 'dark' : 'light' });
      await page.goto(service.url + path);
      const fits = await page.evaluate('document.documentElement.scrollWidth <= innerWidth');
      const found = await axeViolations(page);
      if (!fits || found.length > 0) objections.push(`${path}: ${fits ? '' : 'too wide; '}${found.join('; ')}`);
    }
    expect(objections).toEqual([]);
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
  }, 240_000);

  test('works by keyboard alone: create a role, ask before deleting it in vain, change it', async () => {
    const { page, service } = story;
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.goto(`${service.url}/dashboard/roles`);
    const focus = async (selector: string) => {
      for (let i = 0; i < 120; i++) {
        await page.keyboard.press('Tab');
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
      }
      throw new Error(`the keyboard never comes to ${selector}`);
    };
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.className')).toBe('skip');
    await page.keyboard.press('Enter');
    await focus('.head-actions a');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/roles/new');
    await focus('#name');
    await page.keyboard.type('night desk');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/dashboard/roles/*?done=created');
    await focus('a[href$="/delete"]');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/delete');
    await focus('#confirmation');
    await page.keyboard.type('something else');
    await page.keyboard.press('Enter');
    await page.locator('#confirmation-error').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('confirmation');
    await page.keyboard.type('night desk');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/dashboard/roles?done=deleted');
  }, 60_000);
});
