import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { connectionTestUrl } from '../../src/domain/connections/connections.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { picture, policyViolations, sharedChromium } from '../support/chromium.js';
import { sharedExampleApp } from '../support/example-app.js';
import { needs } from '../support/programs.js';
import { addConnection } from '../support/connections.js';
import { addUser, password } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { startUpstreamOidc, type UpstreamOidc } from '../support/upstream-oidc.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const test = needs('chromium');

const service = sharedService();
const ctx = contextOf(service);
const app = sharedExampleApp(service);
const chromium = sharedChromium();
const apple = ScriptedUpstream.shared();
let upstream: UpstreamOidc;
let corp: ConnectionRow;

beforeAll(async () => {
  // The providers are another site than the service: cookies and policies apply as they would.
  const account = { sub: 'ada', email: 'ada@corp.example', email_verified: true, given_name: 'Ada', family_name: 'Lovelace' };
  upstream = await startUpstreamOidc({ callback: `${service.url}/auth/sso/callback`, account });
  corp = await addConnection(ctx, { issuer: upstream.issuer, domains: ['corp.example'] });
});
afterAll(async () => upstream?.close());

/** A page of a new visitor, and what its policies had to stop. */
async function visit(options: BrowserContextOptions = {}): Promise<{ page: Page; violations: string[] }> {
  const context = await chromium.newContext(options);
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const violations = policyViolations(page);
  return { page, violations };
}

test.each(['the first login', 'the second'])('%s: from the application through the provider and back, with tokens', async () => {
  const { page, violations } = await visit();
  await page.goto(app.url);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Continue with Example Corporation' }).click();
  await page.getByRole('heading', { name: 'Upstream' }).waitFor();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await Promise.race([
    page.waitForURL(`${app.url}/`),
    page
      .getByRole('button', { name: 'Allow' })
      .click()
      .then(() => page.waitForURL(`${app.url}/`)),
  ]);
  await page.getByText('Signed in as').waitFor();
  expect(await page.textContent('pre')).toContain('ada@corp.example');
  expect(violations).toEqual([]);
  expect((await findUserByEmailKey(ctx.scope, 'ada@corp.example'))?.first_name).toBe('Ada');
  await page.context().close();
});

test.each([true, false])('an address of the company goes straight to it from the sign-in page (scripts: %s)', async (javaScriptEnabled) => {
  const { page, violations } = await visit({ javaScriptEnabled });
  await page.goto(`${service.url}/login`);
  await page.getByLabel('Email').fill('somebody@corp.example');
  await page.getByText('To sign in with your company account, leave this empty.').waitFor();
  await picture(page, 'login-company');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Upstream' }).waitFor();
  expect(await page.textContent('#hint')).toBe('somebody@corp.example');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${service.url}/account`);
  expect(violations).toEqual([]);
  await page.context().close();
});

test("Apple's answer, posted by a page of another site, arrives with the browser's cookies", async () => {
  apple.claims = { sub: '001', email: 'apple@privaterelay.example', email_verified: 'true' };
  apple.answer = { user: JSON.stringify({ name: { firstName: 'Grace', lastName: 'Hopper' } }) };
  await addConnection(ctx, { strategy: 'apple', display_name: 'Apple', issuer: apple.url });
  const { page } = await visit();
  await page.goto(`${service.url}/login`);
  await page.getByRole('link', { name: 'Continue with Apple' }).click();
  await page.waitForURL(`${service.url}/account`);
  expect(await page.getByLabel('First name').inputValue()).toBe('Grace');
  expect(page.url()).not.toContain('Grace');
  await page.context().close();
});

test('connect and disconnect on the account page', async () => {
  const user = await addUser(ctx, { email: 'local@elsewhere.example' });
  upstream.account = { ...upstream.account, sub: 'local', email: 'local@corp.example' };
  const { page, violations } = await visit();
  await page.goto(`${service.url}/login`);
  await page.getByLabel('Email').fill(user.email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Connect Example Corporation' }).click();
  await page.getByRole('heading', { name: 'Upstream' }).waitFor();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Account connected').waitFor();
  await picture(page, 'account-connected');
  await page.getByRole('button', { name: 'Disconnect Example Corporation' }).click();
  await page.getByText('Account disconnected').waitFor();
  expect(violations).toEqual([]);
  await page.context().close();
});

const [desktop, phone] = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];
// The story is the same in all: both widths once, and the other schemes for pictures. The pages' colours are looked at by account-pages.test.ts.
const forms = [
  { name: 'desktop-light', viewport: desktop, colorScheme: 'light' },
  { name: 'phone-dark', viewport: phone, colorScheme: 'dark' },
  ...(process.env['SCREENSHOTS']
    ? ([
        { name: 'desktop-dark', viewport: desktop, colorScheme: 'dark' },
        { name: 'phone-light', viewport: phone, colorScheme: 'light' },
      ] as const)
    : []),
] as const;

test.each(forms)(
  'the pages on the way ($name): the password first, a refusal with a way back, the test of a connection',
  async ({ name, ...options }) => {
    // Of a domain for which no other connection speaks.
    const email = `ask-${name}@people.example`;
    const asking = await addConnection(ctx, { issuer: upstream.issuer, display_name: 'Asking Corporation', account_linking: 'ask' });
    await addUser(ctx, { email });
    upstream.account = { sub: name, email, email_verified: true, given_name: 'Ada', family_name: 'Lovelace' };
    const { page, violations } = await visit(options);
    await page.goto(`${service.url}/auth/sso/${asking.id}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('There’s already an account for').waitFor();
    await picture(page, `link-${name}`);
    await page.getByLabel('Password', { exact: true }).fill('not the password');
    await page.keyboard.press('Enter');
    await page.getByText('That isn’t your current password.').first().waitFor();
    await picture(page, `link-refused-${name}`);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${service.url}/account`);

    await page.goto(connectionTestUrl(ctx, { permissions: new Set(['users:read']) }, corp));
    await page.getByRole('heading', { name: 'Test of Example Corporation' }).waitFor();
    await picture(page, `test-${name}`);

    upstream.account = { sub: `unverified ${name}`, email, email_verified: false };
    const stranger = await visit(options);
    await stranger.page.goto(`${service.url}/auth/sso/${asking.id}?return_to=${encodeURIComponent('/account?from=here')}`);
    await stranger.page.getByRole('button', { name: 'Sign in' }).click();
    await stranger.page.getByText('sso_email_unverified').waitFor();
    await picture(stranger.page, `refused-${name}`);
    await stranger.page.getByRole('link', { name: 'Back to sign-in' }).click();
    await stranger.page.waitForURL(`${service.url}/login?return_to=%2Faccount%3Ffrom%3Dhere`);

    upstream.account = { sub: `elsewhere ${name}`, email: 'ceo@corp.example', email_verified: true };
    const other = await visit(options);
    await other.page.goto(`${service.url}/auth/sso/${asking.id}`);
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    await other.page.getByText('sso_domain_not_allowed').waitFor();
    await picture(other.page, `elsewhere-${name}`);
    expect([...violations, ...stranger.violations, ...other.violations]).toEqual([]);
    await page.context().close();
    await stranger.page.context().close();
    await other.page.context().close();
  },
);
