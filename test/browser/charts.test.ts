// The overview's charts: what a day's values are is seen by pointer, by finger, by keyboard and without scripts.
import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { insert } from '../../src/db/scope.js';
import { addUserRoles, findRoleByName } from '../../src/db/tables/roles.js';
import { administratorRole } from '../../src/domain/reach/management-permissions.js';
import { axeViolations } from '../support/axe.js';
import { picture, sharedChromium, signInAt } from '../support/chromium.js';
import { addClient, addUser, password } from '../support/data.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const service = sharedService();
const ctx = contextOf(service);
const chromium = sharedChromium();
const dayMs = 86_400_000;

beforeAll(async () => {
  const admin = await addUser(ctx, { email: 'root@example.com' });
  const role = await findRoleByName(ctx.scope, administratorRole);
  await addUserRoles(ctx.scope, admin.id, role ? [role.id] : []);
  const now = ctx.clock.now().getTime();
  for (const [ago, succeeded, failed] of [
    [0, 12, 3],
    [1, 7, 0],
    [8, 4, 1],
  ] as const) {
    // prettier-ignore
    const day = new Date(now - ago * dayMs);
    for (const [label, count] of Object.entries({ succeeded, failed }))
      await insert(ctx.scope, 'daily_stats', { day, name: 'logins', label, count });
  }
  await addClient(ctx);
});

/** Signs in and shows the overview of a week. */
async function open(options: BrowserContextOptions): Promise<Page> {
  const page = await (await chromium.newContext({ reducedMotion: 'reduce', ...options })).newPage();
  await signInAt(page, service.url, 'root@example.com', password);
  await page.waitForURL('**/account');
  await ctx.db.knex.raw(
    `insert into session_clients (environment_id, session_id, client_id, created_at)
     select s.environment_id, s.id, c.id, s.created_at from sessions s, clients c where c.name = 'Acme Notes' on conflict do nothing`,
  );
  await page.goto(`${service.url}/dashboard?days=7`);
  return page;
}

const yesterday = ['Succeeded: 7', 'Failed: 0', '7 days before: 5'];
const today = ['Succeeded: 12', 'Failed: 3', '7 days before: 0'];
const chart = (page: Page) => page.locator('.chart:has(#chart-logins-title)');
const shown = async (page: Page) => (await chart(page).locator('.chart-values').innerText()).split('\n').slice(1);

test('a pointer shows the values of the day it is on, in the colours of the legend; the days before are a line', async () => {
  const page = await open({ viewport: { width: 1280, height: 860 } });
  await chart(page).locator('.day').nth(5).hover();
  expect(await shown(page)).toEqual(yesterday);
  await picture(page, 'charts-hover');
  const colour = (selector: string, property: string) =>
    chart(page).locator(selector).first().evaluate((one, name) => getComputedStyle(one).getPropertyValue(name), property); // prettier-ignore
  for (const tone of ['.tone-0', '.tone-1'])
    expect(await colour(`rect${tone}`, 'fill')).toBe(await colour(`.legend ${tone}`, 'background-color'));
  expect(await colour('polyline.before:not(.around)', 'stroke')).toBe(await colour('.legend .before', 'border-block-start-color'));
  expect(
    await chart(page)
      .locator('rect')
      .evaluateAll((all) => new Set(all.map((one) => getComputedStyle(one).fillOpacity)).size),
  ).toBe(1);
  await page.mouse.move(0, 0);
  expect(await chart(page).locator('.chart-values').isVisible()).toBe(false);
  expect(await axeViolations(page)).toEqual([]);
  await page.context().close();
});

test('arrow keys go from day to day, and each is named with its values', async () => {
  const page = await open({ viewport: { width: 1280, height: 860 } });
  const days = chart(page).getByRole('slider', { name: /sign-ins in 7 days/ });
  await days.focus();
  expect(await shown(page)).toEqual(today);
  await page.keyboard.press('ArrowLeft');
  expect(await shown(page)).toEqual(yesterday);
  expect(await days.getAttribute('aria-valuetext')).toMatch(/^\d+ \w+, Succeeded: 7, Failed: 0, 7 days before: 5$/);
  await picture(page, 'charts-keyboard');
  await page.keyboard.press('Tab');
  expect(await chart(page).locator('.chart-values').isVisible()).toBe(false);
  await page.context().close();
});

test('a finger shows them too, until it is put elsewhere', async () => {
  const page = await open({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await chart(page).locator('.day').nth(5).tap();
  expect(await shown(page)).toEqual(yesterday);
  await picture(page, 'charts-touch');
  await page.getByRole('heading', { level: 1 }).tap();
  expect(await chart(page).locator('.chart-values').isVisible()).toBe(false);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  await page.context().close();
});

test('without scripts each day has them as the browser’s own tip; charts without anything are a line of words', async () => {
  const page = await open({ javaScriptEnabled: false });
  const tips = await chart(page).locator('.day > title').allTextContents();
  expect(tips).toHaveLength(7);
  expect(tips.at(-1)?.split('\n')).toEqual([expect.stringMatching(/ \(so far\)$/), ...today]);
  expect(await chart(page).getByRole('slider').count()).toBe(0);
  expect(await page.locator('.empty-charts li').allTextContents()).toEqual([
    'No token issued in 7 days',
    expect.stringMatching(/^No .*webhook deliver/),
  ]);
  expect(await page.locator('.chart').count()).toBe(2);
  await page.context().close();
});
