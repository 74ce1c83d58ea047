// A customer's administrator with nothing but a set-up link: from a fresh browser without scripts to a first sign-in and a SCIM request.
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { authorizeQuery, s256 } from '../support/authorize.js';
import { axeViolations } from '../support/axe.js';
import { picture, policyViolations, sharedChromium } from '../support/chromium.js';
import { addClient } from '../support/data.js';
import { sendScim } from '../support/directories.js';
import { manage, startManagedService, type Api } from '../support/management.js';
import { needs } from '../support/programs.js';
import { addSetupLink } from '../support/setup-links.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { startUpstreamOidc, type UpstreamOidc } from '../support/upstream-oidc.js';
import { providerSecret } from '../support/connections.js';

const test = needs('chromium');
const records = new Map<string, string[]>();
const service = sharedService(() => startManagedService({}, { overrides: { txtLookup: async (name: string) => records.get(name) ?? [] } }));
const ctx = contextOf(service);
const api: Api = shared(() => manage(service.url));
const chromium = sharedChromium();
let upstream: UpstreamOidc;

beforeAll(async () => {
  const account = { sub: 'ada', email: 'ada@acme.example', given_name: 'Ada', family_name: 'Lovelace' };
  upstream = await startUpstreamOidc({ callback: `${service.url}/auth/sso/callback`, account });
});
afterAll(() => upstream?.close());

async function visit(options: BrowserContextOptions = {}): Promise<{ page: Page; violations: string[] }> {
  const context = await chromium.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 860 }, ...options });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const violations = policyViolations(page);
  return { page, violations };
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

/** The provider's own page, then ours again. */
async function signInThere(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'Upstream' }).waitFor();
  await press(page, 'Sign in');
}

/** The domain of the link is proven on its page. */
async function proveDomain(page: Page, domain: string): Promise<void> {
  await page.getByRole('link', { name: 'Domains', exact: true }).click();
  await picture(page, 'setup-domains-empty');
  await page.getByLabel('Domain', { exact: true }).fill(domain);
  await press(page, 'Add domain');
  await press(page, `Check now: ${domain}`);
  await page.getByText('The record wasn’t found yet.').waitFor();
  await picture(page, 'setup-domains-waiting');
  const [name = '', value = ''] = await page.locator('code.copied').allInnerTexts();
  records.set(name, [value]);
  await press(page, `Check now: ${domain}`);
  await page.getByText('Verified').waitFor();
  await picture(page, 'setup-domains-verified');
}

/** The provider is connected, tried and enabled. */
async function connect(page: Page): Promise<void> {
  await picture(page, 'setup-connection-choice');
  await page.getByLabel('Another provider').check();
  await page.getByLabel('OpenID Connect').check();
  await press(page, 'Continue');
  await page.getByLabel('Issuer URL').fill(upstream.issuer);
  await page.getByLabel('Client ID').fill('the-service');
  await press(page, 'Save');
  await picture(page, 'setup-connection-saved-without-secret');
  await page.getByText('Change the settings').click();
  await page.getByLabel('Client secret').fill(providerSecret);
  await press(page, 'Save');
  await press(page, 'Test sign-in');
  await signInThere(page);
  await page.getByText('It works.').waitFor();
  expect(await page.locator('#claims').innerText()).toContain('"given_name": "Ada"');
  await picture(page, 'setup-tested');
  await page.getByRole('link', { name: 'Back to the set-up' }).click();
  await picture(page, 'setup-connection-tested');
  await press(page, 'Enable');
  await press(page, 'Disable');
  await page.getByText('Test it first.').waitFor();
}

test('from the link to the first sign-in and a SCIM request, without scripts (specification 16.9)', async () => {
  const link = await addSetupLink(api);
  const { page, violations } = await visit();
  await page.goto(`${service.url}${link.path}`);
  await picture(page, 'setup-welcome');
  await press(page, 'Begin');
  await page.waitForURL(`${service.url}${link.inside}`);
  await picture(page, 'setup-steps');
  await proveDomain(page, 'acme.example');
  await page.getByRole('link', { name: 'Next: Single sign-on' }).click();
  await connect(page);
  // The same browser, another day.
  await page.goto(`${service.url}${link.path}`);
  await page.waitForURL(`${service.url}${link.inside}`);
  await page.getByRole('link', { name: 'Single sign-on' }).click();
  await press(page, 'Test sign-in');
  await page.getByRole('link', { name: 'Back to the set-up' }).click();
  await press(page, 'Enable');
  await picture(page, 'setup-connection-enabled');
  await page.getByRole('link', { name: 'Next: Directory' }).click();
  await picture(page, 'setup-directory-empty');
  await press(page, 'Create token');
  await picture(page, 'setup-directory-token');
  const [url = '', token = ''] = await page.locator('code.copied').allInnerTexts();
  await page.goto(`${service.url}${link.inside}/directory`);
  expect(await page.content()).not.toContain(token);
  await picture(page, 'setup-directory-made');
  await page.getByRole('link', { name: 'All steps' }).first().click();
  await picture(page, 'setup-steps-done');
  await press(page, 'Finish set-up');
  await page.getByRole('heading', { name: 'Set-up finished' }).waitFor();
  await picture(page, 'setup-finished');
  expect((await page.goto(`${service.url}${link.path}`))?.status()).toBe(410);
  await picture(page, 'setup-used');

  expect((await sendScim(`${url}/Users`, token, 'POST', { userName: 'grace@acme.example' })).status).toBe(201);

  const client = await addClient(ctx, { organization_usage: 'allow' });
  const visitor = await visit({ javaScriptEnabled: true });
  await visitor.page.goto(
    `${service.url}/oauth/authorize?${authorizeQuery(client, { ...s256(), organization: link.organization['attributes'].name })}`,
  );
  await picture(visitor.page, 'setup-first-login');
  await visitor.page.getByRole('link', { name: /^Continue with/ }).click();
  await signInThere(visitor.page);
  await expect.poll(async () => (await api.get('/users?filter[email]=ada@acme.example')).body['data']).toHaveLength(1);
  expect([...violations, ...visitor.violations]).toEqual([]);
  await page.context().close();
  await visitor.page.context().close();
});

const forms = [
  { name: 'desktop-light', viewport: { width: 1280, height: 860 }, colorScheme: 'light', locale: 'en' },
  { name: 'phone-dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark', locale: 'de' },
  { name: 'phone-light', viewport: { width: 390, height: 844 }, colorScheme: 'light', locale: 'ar' },
  { name: 'desktop-dark', viewport: { width: 1280, height: 860 }, colorScheme: 'dark', locale: 'ar' },
  { name: 'desktop-german', viewport: { width: 1280, height: 860 }, colorScheme: 'light', locale: 'de' },
] as const;

test.each(process.env['SCREENSHOTS'] ? forms : forms.slice(0, 3))(
  'every page of a set-up can be used by everybody ($name)',
  async ({ name, ...options }) => {
    const link = await addSetupLink(api);
    const { page, violations } = await visit({ javaScriptEnabled: true, ...options });
    const look = async (what: string) => {
      expect([what, await axeViolations(page)]).toEqual([what, []]);
      expect([what, await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)]).toEqual([what, true]);
      await picture(page, `setup-${what}-${name}`);
    };
    await page.goto(`${service.url}${link.path}`);
    await look('welcome');
    await page.locator('#begin button').click();
    await page.waitForURL(`${service.url}${link.inside}`);
    await look('steps');
    const at = `${service.url}${link.inside}`;
    await page.goto(`${at}/domains`);
    await page.locator('#domain').fill(`a-long-name-of-a-company-${name}.example`);
    await page.locator('#add button').click();
    await page.locator('form[action$="/verify"] button').click();
    await page.locator('.error').waitFor();
    await look('domains');
    await page.locator('#domain').fill('gmail.com');
    await page.locator('#add button').click();
    await page.locator('#domain-error').waitFor();
    await look('domains-refused');
    await page.goto(`${at}/connection`);
    await look('connection');
    for (const provider of ['entra', 'okta', 'google', 'other'])
      for (const protocol of ['saml', 'oidc']) {
        await page.goto(`${at}/connection?provider=${provider}&protocol=${protocol}`);
        await look(`${provider}-${protocol}`);
      }
    await page.locator('#issuer').fill(upstream.issuer);
    await page.locator('#provider_client_id').fill('the-service');
    await page.locator('#provider_client_secret').fill(providerSecret);
    await page.locator('#connection button[type=submit]').click();
    await page.locator('#test').waitFor();
    await look('connection-saved');
    await page.locator('#test button').click();
    await signInThere(page);
    await page.locator('#verdict').waitFor();
    await look('test-refused');
    await page.goto(`${at}/directory`);
    await look('directory');
    await page.locator('#token button').click();
    await page.locator('#scim-token').waitFor();
    await look('directory-token');
    await page.goto(`${at}/directory`);
    await look('directory-made');
    expect(violations).toEqual([]);

    const other = await visit(options);
    await other.page.goto(`${service.url}${link.path}`);
    await picture(other.page, `setup-elsewhere-${name}`);
    await other.page.context().close();
    await page.context().close();
  },
);
