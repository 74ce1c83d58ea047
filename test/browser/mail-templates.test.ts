// An administrator gives a mail words of the environment's own, sees how it looks, and has it sent (specification 15.11).
import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { administratorsPage, look } from '../support/administrators-page.js';
import { sharedChromium } from '../support/chromium.js';
import { password } from '../support/data.js';
import { lastMailTo } from '../support/mailbox.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const browser = sharedChromium();
const service = sharedService();
const ctx = contextOf(service);
let admin: UserRow;
let page: Page;

beforeAll(async () => {
  ({ admin, page } = await administratorsPage(browser, ctx));
});

test('a mail gets words of its own from the built-in ones on, is previewed and sent to whoever wrote it', async () => {
  await page.goto(`${service.url}/dashboard`);
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('link', { name: 'Mail templates' }).click();
  await look(page, 'empty');
  await page.locator('main').getByRole('link', { name: 'Create mail template' }).first().click();
  await look(page, 'chooser');
  await page.getByRole('link', { name: 'Password reset' }).click();
  expect(await page.getByLabel('Text', { exact: true }).inputValue()).toContain('{{#administrator}}');
  await page.getByLabel('Built-in text').selectOption('ja');
  await page.getByRole('button', { name: 'Start from it' }).click();
  await expect.poll(() => page.getByLabel('Subject').inputValue()).toBe('{{environment_name}} のパスワードの再設定');
  await look(page, 'new');
  const draft = page.frameLocator('iframe[name=draft]');
  await draft.getByText('104285').waitFor();
  await page.getByLabel('Language').selectOption('de');
  await page.getByLabel('Subject').fill('Passwort zurücksetzen bei {{environment_nam}}');
  await page.getByLabel('Text', { exact: true }).fill('Ihr Code:\n\n{{code}}\n\nOder öffnen Sie diese Seite:\n{{reset_url}}\n');
  await draft.getByText('This text can’t be shown yet.').waitFor();
  if (await page.getByLabel('password', { exact: false }).count())
    await page
      .getByLabel(/password/i)
      .last()
      .fill(password);
  await page.locator('#create .form-actions button').click();
  await expect.poll(() => page.locator('main').textContent()).toContain('did you mean {{environment_name}}?');
  await look(page, 'refused');
  await page.getByLabel('Subject').fill('Passwort zurücksetzen bei {{environment_name}}');
  await draft.getByText('Ihr Code:').waitFor();
  if (await page.locator('#create input[type=password]').count()) await page.locator('#create input[type=password]').fill(password);
  await page.locator('#create .form-actions button').click();
  await page.waitForURL(/mail_templates\/[0-9a-f-]{36}/);
  await look(page, 'record');
  await page.getByRole('link', { name: 'Preview' }).click();
  const framed = page.frameLocator('iframe#html');
  await framed.getByText('104285').waitFor();
  expect(await framed.locator('a').first().getAttribute('href')).toContain('https://id.example/password/reset');
  await look(page, 'preview');
  await page.getByRole('button', { name: 'Send a test to me' }).click();
  await expect.poll(() => page.locator('main').textContent()).toContain('sample values to your address');
  const mail = await lastMailTo(service.url, admin.email);
  expect([mail.subject, mail.text]).toEqual([
    `[Test] Passwort zurücksetzen bei ${ctx.environment.name}`,
    expect.stringMatching(/^Ihr Code:\n\n104285\n\nOder/),
  ]);
});
