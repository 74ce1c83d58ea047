// The search field of the dashboard by keyboard and on a phone: from any page to a person in a few keys, with scripts and without.
import { beforeAll, expect } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { permit } from '../support/administrators.js';
import { axeViolations } from '../support/axe.js';
import { picture, sharedChromium, signInAt } from '../support/chromium.js';
import { addClient, addUser, password } from '../support/data.js';
import { needs } from '../support/programs.js';
import { sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const browser = sharedChromium();
const service = sharedService();
let admin: UserRow;
let lena: UserRow;

beforeAll(async () => {
  const ctx = await service.context();
  admin = await addUser(ctx);
  await permit(ctx, admin.id, ...managementPermissions);
  lena = await addUser(ctx, { email: 'lena@example.com', first_name: 'Lena', last_name: 'Obermaier' });
  for (const name of ['Jonas', 'Carla']) await addUser(ctx, { first_name: name, last_name: 'Maier' });
  await addClient(ctx, { name: 'Maier Shop' });
});

async function signedIn(options: Parameters<typeof browser.newContext>[0]) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await signInAt(page, service.url, admin.email, password);
  await page.waitForURL('**/account');
  return { context, page };
}

test('/ and Ctrl+K lead to the field; what is found is chosen by arrows; Escape closes it', async () => {
  const { context, page } = await signedIn({ viewport: { width: 1280, height: 860 } });
  await page.goto(`${service.url}/dashboard/clients`);
  const field = page.getByRole('searchbox', { name: 'Find anything' });
  await page.keyboard.press('/');
  await expect.poll(() => field.evaluate((one) => one === document.activeElement)).toBe(true);
  await page.keyboard.type('maier');
  const found = page.locator('.found a');
  await found.first().waitFor();
  expect(await found.count()).toBe(4);
  expect(await axeViolations(page)).toEqual([]);
  await picture(page, 'search-found');
  await page.keyboard.press('Escape');
  await expect.poll(() => page.locator('.found').isVisible()).toBe(false);
  await field.blur();
  await page.keyboard.press('Control+k');
  await page.keyboard.type(' lena');
  await page.locator('.found .result-name', { hasText: 'Lena Obermaier' }).waitFor();
  // What was there is replaced: all of it was selected.
  expect((await field.inputValue()).trim()).toBe('lena');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/dashboard/users/${lena.id}`);
  // A slash that somebody types stays one.
  await field.fill('https:');
  await field.press('End');
  await page.keyboard.type('//');
  expect(await field.inputValue()).toBe('https://');
  await context.close();
});

test('without scripts Enter leads to the results; an id to its record', async () => {
  const { context, page } = await signedIn({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } });
  await page.goto(`${service.url}/dashboard`);
  const field = page.getByRole('searchbox', { name: 'Find anything' });
  await field.fill('maier');
  await field.press('Enter');
  await page.getByRole('heading', { name: 'Search results for “maier”' }).waitFor();
  expect(await page.locator('.results h2').allTextContents()).toEqual(['Users', 'Clients']);
  await field.fill(lena.id);
  await field.press('Enter');
  await page.waitForURL(`**/dashboard/users/${lena.id}`);
  await context.close();
});

test.each([
  ['light', 1280],
  ['dark', 1280],
  ['dark', 390],
  ['light', 390],
] as const)('the results in %s at %i have no violation', async (colorScheme, width) => {
  const { context, page } = await signedIn({ colorScheme, viewport: { width, height: 860 } });
  await page.goto(`${service.url}/dashboard/search?q=maier`);
  expect(await axeViolations(page)).toEqual([]);
  await picture(page, `search-${colorScheme}-${width}`);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  await page.goto(`${service.url}/dashboard/users`);
  await picture(page, `search-list-${colorScheme}-${width}`);
  await context.close();
});
