// An administrator changes what the sign-in page says, sees it on the page, and restores it (specification 4.13.6).
import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { administratorsPage, look } from '../support/administrators-page.js';
import { picture, sharedChromium } from '../support/chromium.js';
import { password } from '../support/data.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const browser = sharedChromium();
const service = sharedService();
const ctx = contextOf(service);
let page: Page;

beforeAll(async () => {
  ({ page } = await administratorsPage(browser, ctx));
});

const save = async () => {
  const proof = page.locator('form#texts input[type=password]');
  if (await proof.count()) await proof.fill(password);
  await page.locator('form#texts .form-actions button').click();
};

test('a text of the sign-in page is changed in Arabic, shown on its page, and restored', async () => {
  await page.goto(`${service.url}/dashboard`);
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('link', { name: 'Page texts' }).click();
  await look(page, 'page-texts-empty');
  await page.locator('main').getByRole('link', { name: 'Change texts' }).first().click();
  await look(page, 'page-texts-pages');
  await page.getByRole('link', { name: /^Sign in/ }).click();
  await look(page, 'page-texts-en');
  await page.locator('select[name=locale]').selectOption('ar');
  await page.waitForURL(/locale=ar/);
  await page.getByLabel('Sign in to {client}', { exact: true }).fill('مرحبا بكم في {cliant}');
  const title = page.getByRole('textbox', { name: 'Sign in', exact: true });
  await title.fill('مرحبا بكم من جديد');
  const draft = page.frameLocator('iframe[name=draft]');
  await draft.getByRole('heading', { name: 'مرحبا بكم من جديد' }).waitFor();
  await save();
  await expect.poll(() => page.locator('main').textContent()).toContain('did you mean {client}?');
  expect(await ctx.db.knex('page_texts')).toEqual([]);
  await look(page, 'page-texts-refused-ar');
  await page.getByLabel('Sign in to {client}', { exact: true }).fill('');
  await save();
  await page.getByText('Saved.').waitFor();
  await look(page, 'page-texts-saved-ar');
  const visitor = await (await browser.newContext({ locale: 'ar', viewport: { width: 390, height: 800 } })).newPage();
  await visitor.goto(`${service.url}/login`);
  expect(await visitor.locator('h1').textContent()).toBe('مرحبا بكم من جديد');
  await picture(visitor, 'page-texts-login-ar');
  await title.fill('');
  await save();
  await expect.poll(() => ctx.db.knex('page_texts')).toEqual([]);
  await visitor.reload();
  expect(await visitor.locator('h1').textContent()).toBe('تسجيل الدخول');
  await visitor.context().close();
});

test('a registration goes on in another language with the names that were typed', async () => {
  const visitor = await (await browser.newContext({ locale: 'en-GB', viewport: { width: 390, height: 800 } })).newPage();
  await visitor.goto(`${service.url}/register`);
  await visitor.getByLabel('Email address').fill('hopper@example.com');
  await visitor.getByRole('button', { name: 'Continue' }).click();
  await visitor.waitForURL(/register\/verify/);
  await visitor.getByLabel('Code').fill(codeIn(await lastMailTo(service.url, 'hopper@example.com')));
  await visitor.getByRole('button', { name: 'Continue' }).click();
  await visitor.getByLabel('First name').fill('Grace');
  await visitor.locator('details.languages summary').click();
  await picture(visitor, 'page-texts-switch-open');
  await visitor.getByRole('button', { name: 'العربية' }).click();
  await expect.poll(() => visitor.locator('html').getAttribute('dir')).toBe('rtl');
  expect(await visitor.locator('#first_name').inputValue()).toBe('Grace');
  await picture(visitor, 'page-texts-switched-ar');
  await visitor.context().close();
});
