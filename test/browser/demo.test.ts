import { expect } from 'vitest';
import { picture, policyViolations, sharedChromium } from '../support/chromium.js';
import { sharedExampleApp } from '../support/example-app.js';
import { needs } from '../support/programs.js';
import { sharedService } from '../support/shared-service.js';

const test = needs('chromium');

const service = sharedService();
const app = sharedExampleApp(service);
const chromium = sharedChromium();

const forms = [
  { name: 'desktop-light', viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  { name: 'desktop-dark', viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  { name: 'phone-light', viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  { name: 'phone-dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const;

test.each(forms)('in Chromium ($name): sign in, see the claims, call the API, refresh, sign out', async ({ name, ...options }) => {
  const context = await chromium.newContext(options);
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const violations = policyViolations(page);
  await page.goto(app.url);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.waitForURL(/\/login\?/);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('Demo notes');
  await picture(page, `login-${name}`);

  await page.getByLabel('Email').fill(app.data.user.email);
  await page.getByLabel('Password', { exact: true }).fill('not the password');
  await page.keyboard.press('Enter');
  await page.getByText('The email address or password is incorrect').first().waitFor();
  await picture(page, `login-refused-${name}`);

  await page.getByLabel('Password', { exact: true }).fill(app.data.user.password);
  await page.keyboard.press('Enter');
  await page.waitForURL(`${app.url}/`);
  await page.getByText('Signed in as').waitFor();
  expect(await page.textContent('pre')).toContain('demo@example.com');
  await picture(page, `claims-${name}`);

  await page.getByRole('button', { name: 'Call the API' }).click();
  await page.getByText('Buy milk').waitFor();
  await page.getByRole('button', { name: 'Refresh the tokens' }).click();
  await page.getByText('Refreshed 1 time.').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are not signed in.').waitFor();
  expect(violations).toEqual([]);
  await context.close();
});
