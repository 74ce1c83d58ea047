import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest';
import { setupUrl } from '../../src/domain/users/setup.js';
import { picture, sharedChromium } from '../support/chromium.js';
import { startGallery, type Gallery } from '../support/gallery.js';
import { deviceCodeGrantType } from '../../src/lib/grant-types.js';
import { addClient } from '../support/data.js';
import { needs } from '../support/programs.js';
import { startTestService, type TestService } from '../support/service.js';

const test = needs('chromium');

const browser = sharedChromium();

let gallery: Gallery;
let service: TestService;
let context: BrowserContext;
let page: Page;
/** Addresses by what they show: pages of people, and of the dashboard with a few records. */
const pages = new Map<string, string>();

/** The longest address that a table is likely to hold. */
const person = 'augusta.ada.king-noel.countess-of-lovelace@analytical-engines.example.com';

beforeAll(async () => {
  [gallery, service] = await Promise.all([startGallery(), startTestService()]);
  context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', viewport: { width: 1280, height: 860 } });
  page = await context.newPage();
  for (const name of ['login-client', 'register', 'consent-native', 'account', 'account-sign-in-methods', 'totp', 'recovery-codes'])
    pages.set(name, `${gallery.url}/${name}`);
  await page.goto(setupUrl(await service.context()));
  await page.getByLabel('Email address').fill('root@example.com');
  await page.getByLabel('First name').fill('Grace');
  await page.getByLabel('Last name').fill('Hopper');
  await page.getByLabel('Password', { exact: true }).fill('nanoseconds of wire');
  await page.getByRole('button', { name: 'Create administrator' }).click();
  await page.waitForURL('**/dashboard');
  await page.goto(`${service.url}/dashboard/users/new`);
  await page.getByLabel('Email address').fill(person);
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('Lovelace');
  await page.getByLabel('Password').fill('notes on the engine');
  await page.getByRole('button', { name: 'Create user' }).click();
  await page.waitForURL('**/dashboard/users/*?done=created');
  pages.set('user', page.url().replace(/\?.*/, ''));
  for (const path of ['', '/users', '/audit_logs', '/security_events', '/settings', '/page_texts', '/clients/new'])
    pages.set(`dashboard${path.replaceAll('/', '-')}`, `${service.url}/dashboard${path}`);
  for (const list of ['audit_logs', 'security_events']) {
    await page.goto(`${service.url}/dashboard/${list}`);
    const path = await page.locator('.row-link').first().getAttribute('href');
    pages.set(`${list}-record`, service.url + path);
  }
});

afterAll(async () => {
  await context?.close();
  await gallery?.close();
});

beforeEach(() => page.emulateMedia({ media: null, forcedColors: 'none', colorScheme: 'light' }));

const visit = (name: string) => page.goto(pages.get(name) as string, { waitUntil: 'load' });

/** What doesn't fit: the page to the side, text that its box cuts off, and text of controls that runs over their edge. */
const misfits = `[
  ...(document.documentElement.scrollWidth > innerWidth ? ['the page, by ' + (document.documentElement.scrollWidth - innerWidth) + ' px'] : []),
  ...[...document.querySelectorAll('body *')]
    .filter((one) => one.checkVisibility() && one.clientWidth > 1 && !one.closest('.visually-hidden, .skip, svg, .scroll, iframe')
      && one.tagName !== 'INPUT' && one.tagName !== 'SELECT'
      && (getComputedStyle(one).overflowX !== 'visible' || one.matches('.button')) && one.scrollWidth > one.clientWidth + 2)
    .map((one) => one.outerHTML.slice(0, 90) + ': ' + one.scrollWidth + ' in ' + one.clientWidth),
]`;

describe('on paper', () => {
  const left = '.navigation, .bar, .tabs, .filters, .pager, .skip, button, .button, input, select';

  beforeEach(async () => {
    await page.setViewportSize({ width: 680, height: 1000 });
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  });

  test.each(['dashboard-audit_logs', 'audit_logs-record', 'dashboard-security_events', 'security_events-record', 'recovery-codes'])(
    '%s is whole, black on white, and says where and when it was',
    async (name) => {
      await visit(name);
      await picture(page, `print-${name}`);
      const seen = await page.locator(left).evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one) => one.outerHTML));
      expect(seen, 'nothing to press').toEqual([]);
      expect(await page.evaluate(misfits)).toEqual([]);
      const cut = await page
        .locator('.scroll, pre')
        .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length);
      expect(cut, 'nothing beyond the sheet').toBe(0);
      const main = page.locator('main');
      expect(await main.evaluate((one) => getComputedStyle(one).color)).toBe('rgb(0, 0, 0)');
      expect(await page.locator('body').evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).toBe(
        'rgb(255, 255, 255)',
      );
      const printed = page.locator('.printed');
      expect(await printed.isVisible()).toBe(true);
      const address = name === 'recovery-codes' ? 'https://id.acme.example/account' : (pages.get(name) as string);
      expect(await printed.textContent()).toContain(address);
      expect(await printed.textContent()).toMatch(/\d{1,2} \w+ 20\d\d at \d\d:\d\d(:\d\d)? UTC/);
      expect(await page.locator('body').textContent()).toContain(name === 'recovery-codes' ? 'Acme' : 'Default');
      expect((await page.pdf({ format: 'A4' })).subarray(0, 5).toString()).toBe('%PDF-');
    },
  );

  test('times are exact, and heads of tables come again on each sheet', async () => {
    await visit('dashboard-audit_logs');
    const time = page.locator('td time').first();
    expect(await time.evaluate((one) => getComputedStyle(one).fontSize)).toBe('0px');
    expect(await time.evaluate((one) => getComputedStyle(one, '::after').content)).toMatch(
      /^"\d{1,2} \w+ 20\d\d at \d\d:\d\d(:\d\d)? UTC"$/,
    );
    expect(await page.locator('thead').evaluate((one) => getComputedStyle(one).display)).toBe('table-header-group');
    expect(
      await page
        .locator('tbody tr')
        .first()
        .evaluate((one) => getComputedStyle(one).breakInside),
    ).toBe('avoid');
  });

  test('none of it shows on a screen', async () => {
    await page.emulateMedia({ media: null });
    for (const name of ['dashboard-audit_logs', 'recovery-codes']) {
      await visit(name);
      expect(await page.locator('.printed').isVisible()).toBe(false);
    }
  });
});

const large = ['login-client', 'register', 'consent-native', 'account', 'account-sign-in-methods', 'totp', 'recovery-codes'];
const largeInDashboard = [
  'dashboard',
  'dashboard-users',
  'user',
  'dashboard-audit_logs',
  'audit_logs-record',
  'dashboard-settings',
  'dashboard-clients-new',
];

describe.each([
  ['text of 200 %', { width: 1280, height: 860 }, '200%'],
  ['a zoom of 200 %', { width: 640, height: 430 }, '100%'],
  ['text of 200 % on a tablet', { width: 768, height: 1024 }, '200%'],
])('with %s (WCAG 2.2 1.4.4)', (_name, viewport, size) => {
  test('nothing is cut off, and nothing scrolls sideways', async () => {
    await page.setViewportSize(viewport);
    const wrong: string[] = [];
    for (const name of [...large, ...largeInDashboard]) {
      await visit(name);
      await page.evaluate(`document.documentElement.style.fontSize = '${size}'`);
      await picture(page, `${viewport.width}-${size.replace('%', '')}-${name}`);
      wrong.push(...((await page.evaluate(misfits)) as string[]).map((found) => `${name}: ${found}`));
    }
    expect(wrong).toEqual([]);
  });
});

describe('in forced colours', () => {
  beforeEach(async () => {
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.emulateMedia({ forcedColors: 'active', colorScheme: 'dark' });
  });

  test('the QR code stays dark on white', async () => {
    await visit('totp');
    await picture(page, 'forced-totp');
    const fills = await page.locator('.qr path').evaluateAll((all) => all.map((one) => getComputedStyle(one).fill));
    expect(fills).toEqual(['rgb(255, 255, 255)', 'rgb(0, 0, 0)']);
    expect(await page.locator('.qr').evaluate((one) => getComputedStyle(one).forcedColorAdjust)).toBe('none');
  });

  test('icons take the reader’s colours', async () => {
    for (const [name, icons] of [
      ['consent-native', 'main .icon'],
      ['dashboard', '.navigation a .icon'],
    ] as const) {
      await visit(name);
      const colours = await page.locator(icons).evaluateAll((all) => [...new Set(all.map((one) => getComputedStyle(one).color))]);
      expect(colours, `of ${name}`).toEqual([await page.locator('h1').evaluate((one) => getComputedStyle(one).color)]);
    }
  });

  test('the series of a chart are told apart, and its axis is seen', async () => {
    const ctx = await service.context();
    const { environment } = ctx;
    const { knex } = ctx.db;
    // The charts come once somebody has signed in to an application.
    const client = await addClient(ctx);
    await knex.raw(
      `insert into session_clients (environment_id, session_id, client_id, created_at)
       select environment_id, id, ?, created_at from sessions where environment_id = ? limit 1`,
      [client.id, environment.id],
    );
    const series = {
      logins: ['succeeded', 'failed'],
      tokens: ['authorization_code', 'refresh_token', 'client_credentials', deviceCodeGrantType],
    };
    const rows = Object.entries(series).flatMap(([name, labels]) =>
      labels.map((label, index) => ({ environment_id: environment.id, day: service.clock.now(), name, label, count: 20 - 6 * index })),
    );
    await knex('daily_stats').insert(rows).onConflict(['environment_id', 'day', 'name', 'label']).merge();
    await visit('dashboard');
    await page.locator('.charts').scrollIntoViewIfNeeded();
    await picture(page, 'forced-charts');
    const [text, ground] = await page
      .locator('h1')
      .evaluate((one) => [getComputedStyle(one).color, getComputedStyle(document.body).backgroundColor]);
    for (const [name, labels] of Object.entries(series)) {
      const chart = page.locator(`.chart:has(#chart-${name}-title)`);
      const looks = await chart.locator('rect').evaluateAll((all) =>
        all.map((one) => {
          const { fill, stroke, strokeDasharray } = getComputedStyle(one);
          return [fill, stroke, strokeDasharray].join(' ');
        }),
      );
      expect(new Set(looks).size, `of ${name}`).toBe(labels.length);
      const swatches = await chart
        .locator('.swatch')
        .evaluateAll((all) => all.map((one) => [getComputedStyle(one).backgroundColor, getComputedStyle(one).borderTopStyle].join(' ')));
      expect(new Set(swatches).size, `in the legend of ${name}`).toBe(labels.length);
      const axis = await chart
        .locator('.grid')
        .first()
        .evaluate((one) => getComputedStyle(one).stroke);
      expect(axis).toBe(text);
      expect(axis).not.toBe(ground);
    }
  });

  test('focus and the place in the navigation have an outline', async () => {
    for (const name of [
      'login-client',
      'account-sign-in-methods',
      'consent-native',
      'dashboard',
      'user',
      'dashboard-settings',
      'dashboard-users',
    ]) {
      await visit(name);
      await picture(page, `forced-${name}`);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
      expect(outline, `on ${name}`).toBe('solid');
    }
    const current = page.locator('.navigation [aria-current]');
    expect(await current.evaluate((one) => getComputedStyle(one).outlineStyle)).toBe('solid');
  });
});
