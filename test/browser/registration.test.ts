import type { BrowserContext, Page } from 'playwright-core';
import { expect, inject } from 'vitest';
import { picture, sharedChromium, policyViolations } from '../support/chromium.js';
import { sharedExampleApp } from '../support/example-app.js';
import { needs } from '../support/programs.js';
import { sharedService } from '../support/shared-service.js';

const test = needs('chromium');

const service = sharedService();
const app = sharedExampleApp(service);
const chromium = sharedChromium();

/** Signs in with the password of all who register here. */
async function signIn(page: Page, email: string): Promise<void> {
  await page.goto(`${service.url}/login`);
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill('seven brown foxes at dawn');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(/\/account$/);
}

/** A browser beside other work is slow. */
const patience = { timeout: 120_000 };

const views = [
  { name: 'desktop-light', viewport: { width: 1280, height: 900 }, colorScheme: 'light', javaScriptEnabled: true },
  { name: 'phone-dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark', javaScriptEnabled: false },
] as const;

async function readCode(context: BrowserContext, email: string, name: string): Promise<string> {
  const page = await context.newPage();
  await page.goto(`${service.url}/dev/mailbox`);
  await page.getByLabel('Recipient').fill(email);
  await page.getByRole('button', { name: 'Filter' }).click();
  const newest = page.getByRole('article').first();
  const code = (await newest.locator('header + p code').textContent()) ?? '';
  expect(await newest.locator('pre').textContent()).toContain(`\n${code}\n`);
  await newest.frameLocator('iframe').getByText(code).waitFor();
  await picture(page, name);
  await page.close();
  return code;
}

/** From the application, as a stranger, to the page that asks for the email address. */
async function toRegistration(page: Page): Promise<void> {
  await page.goto(app.url);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.waitForURL(/\/login\?/);
  await page.getByRole('link', { name: 'Create an account' }).click();
  await page.waitForURL(/\/register\?/);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('Demo notes');
}

async function register(context: BrowserContext, page: Page, user: { email: string; password: string }, name: string): Promise<void> {
  await toRegistration(page);
  await page.getByLabel('Email address').fill('grace@');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Enter an email address such as').first().waitFor();
  await picture(page, `1-register-refused-${name}`);
  await page.getByLabel('Email address').fill(user.email);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(/\/register\/verify\?/);
  const code = await readCode(context, user.email, `2-mailbox-${name}`);
  await page.getByLabel('Code').fill(code === '000000' ? '000001' : '000000');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('That code is incorrect').first().waitFor();
  await picture(page, `3-verify-refused-${name}`);
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('First name').fill('Grace');
  await page.getByLabel('Last name').fill('Hopper');
  await page.getByLabel('Password', { exact: true }).fill('short');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('Choose a password of at least 8 characters').first().waitFor();
  await picture(page, `4-complete-refused-${name}`);
  expect(await page.getByLabel('First name').inputValue()).toBe('Grace');
  await page.getByLabel('Password', { exact: true }).fill(user.password);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.waitForURL(`${app.url}/`);
  await page.getByText('Signed in as').waitFor();
}

async function recover(context: BrowserContext, page: Page, user: { email: string; password: string }, name: string): Promise<void> {
  await page.goto(app.url);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await page.getByLabel('Email address').fill(user.email);
  await picture(page, `6-forgot-${name}`);
  await page.getByRole('button', { name: 'Send code' }).click();
  await page.waitForURL(/\/password\/reset\?/);
  await page.getByLabel('Code').fill(await readCode(context, user.email, `7-mailbox-${name}`));
  await page.getByLabel('New password', { exact: true }).fill(user.password);
  await picture(page, `8-reset-${name}`);
  await page.getByRole('button', { name: 'Set new password' }).click();
  await page.getByRole('heading', { name: 'Your new password is set' }).waitFor();
  await page.getByText('One session has been ended').waitFor();
  await picture(page, `8-review-${name}`);
  await page.getByRole('button', { name: 'Continue to sign-in' }).click();
  await page.getByText('Your password has been changed').waitFor();
  await picture(page, `9-login-after-reset-${name}`);
  await page.getByLabel('Email address').fill(user.email);
  await page.getByLabel('Password', { exact: true }).fill(user.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${app.url}/`);
  await page.getByText('Signed in as').waitFor();
}

// Without scripts, on a phone in the dark: a form of the pages, which `npm run test:slow` has them in.
test.each(inject('isWhole') ? views : views.slice(0, 1))(
  'in Chromium ($name): register from the application, sign out, recover; old sessions are gone',
  patience,
  async ({ name, ...options }) => {
    const context = await chromium.newContext(options);
    const elsewhere = await chromium.newContext(options);
    for (const one of [context, elsewhere]) one.setDefaultTimeout(30_000);
    const complaints = policyViolations(context);
    const email = `grace-${name}@example.com`;
    const page = await context.newPage();
    await register(context, page, { email, password: 'seven brown foxes at dawn' }, name);

    await page.goto(`${service.url}/account`);
    await page.getByText('This device').waitFor();
    await picture(page, `5-account-${name}`);
    const other = await elsewhere.newPage();
    await signIn(other, email);

    await page.goto(app.url);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are not signed in.').waitFor();
    await recover(context, page, { email, password: 'nine quiet herons by the lake' }, name);

    await other.reload();
    await other.waitForURL(/\/login\?/);
    await picture(other, `10-signed-out-${name}`);
    expect(complaints).toEqual([]);
    for (const one of [context, elsewhere]) await one.close();
  },
);

test('in Chromium: the account page saves, says so, ends sessions and changes the password', patience, async () => {
  const email = 'account@example.com';
  const context = await chromium.newContext(views[0]);
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  await register(context, page, { email, password: 'seven brown foxes at dawn' }, 'account');
  const elsewhere = await chromium.newContext(views[0]);
  const other = await elsewhere.newPage();
  await signIn(other, email);

  await page.goto(`${service.url}/account`);
  await page.getByText('More about you').click();
  await page.getByLabel('Nickname').fill('Amazing Grace');
  await page.getByLabel('Website').fill('grace.example');
  await page.getByRole('button', { name: 'Save profile' }).click();
  await page.getByText('Enter a web address').first().waitFor();
  expect(await page.evaluate('document.activeElement?.id')).toBe('website');
  await picture(page, '11-account-refused');
  await page.getByLabel('Website').fill('https://grace.example');
  await page.getByRole('button', { name: 'Save profile' }).click();
  await page.getByText('Profile saved.').waitFor();
  await picture(page, '12-account-saved');
  await page.getByRole('button', { name: 'End all other sessions' }).click();
  await page.getByText('All other sessions ended.').waitFor();
  await other.reload();
  await other.waitForURL(/\/login\?/);
  await page.getByLabel('Current password').fill('seven brown foxes at dawn');
  await page.getByLabel('New password', { exact: true }).fill('nine quiet herons by the lake');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('Password changed.').waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, '13-account-phone');
  for (const one of [context, elsewhere]) await one.close();
});
