// Rows of a list that are selected: by the pointer and by keyboard, on a desk and on a phone, with scripts and without.
import { expect } from 'vitest';
import { findUser } from '../../src/db/tables/users.js';
import { administratorsPage, look } from '../support/administrators-page.js';
import { sharedChromium } from '../support/chromium.js';
import { addUser } from '../support/data.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const chromium = sharedChromium();
const service = sharedService();
const ctx = contextOf(service);

test('two people are found, selected and blocked, and the list keeps its filter', async () => {
  const people = [await addUser(ctx, { first_name: 'Lena', last_name: 'Obermaier' }), await addUser(ctx, { first_name: 'Jo', last_name: 'Maierhof' })]; // prettier-ignore
  const { page } = await administratorsPage(chromium, ctx);
  await page.goto(`${service.url}/dashboard/users?search=maier`);
  await page.getByText('1–2 of 2', { exact: true }).waitFor();
  const block = page.getByRole('button', { name: 'Block user' });
  expect(await block.isVisible()).toBe(false);
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
  await page.getByText('Selected: 2').waitFor();
  await look(page, 'list-selected');
  await page.getByRole('checkbox', { name: 'Select: Jo Maierhof' }).uncheck();
  await page.getByText('Selected: 1').waitFor();
  // The box lies above the link that its row is.
  expect(new URL(page.url()).pathname).toBe('/dashboard/users');
  await page.getByRole('checkbox', { name: 'Select: Jo Maierhof' }).focus();
  await page.keyboard.press('Space');
  await block.click();
  await page.getByRole('heading', { name: 'Block user: 2 selected' }).waitFor();
  await look(page, 'list-selected-question');
  await page.getByRole('button', { name: 'Block user' }).click();
  await page.waitForURL('**/dashboard/users?search=maier&done=blocked');
  for (const { id } of people) expect((await findUser(ctx.scope, id))?.status).toBe('blocked');
});

test('on a phone filters unfold from a button, which tells how many are set, and the tab in use is in sight (specification 9.2.17)', async () => {
  const { page } = await administratorsPage(chromium, ctx);
  await page.goto(`${service.url}/dashboard/sessions`);
  const more = page.getByRole('button', { name: 'Filters' });
  const status = page.locator('#filter-status');
  expect([await more.isVisible(), await status.isVisible()]).toEqual([false, true]);
  await page.setViewportSize({ width: 390, height: 800 });
  expect([await more.isVisible(), await status.isVisible()]).toEqual([true, false]);
  expect((await page.locator('tbody tr').first().boundingBox())?.y).toBeLessThan(500);
  await more.click();
  await status.selectOption('active');
  await page.getByLabel('IP address').fill('192.0.2.7');
  await page.getByRole('button', { name: 'Filters (2)' }).waitFor();
  await status.selectOption('revoked');
  await look(page, 'filters-unfolded');
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.waitForURL('**/dashboard/sessions?*status=revoked*');
  expect(new URL(page.url()).searchParams.get('ip_address')).toBe('192.0.2.7');
  expect([await more.textContent(), await status.isVisible()]).toEqual(['Filters (2)', false]);
  await page.goto(`${service.url}/dashboard/user_exports`);
  const tab = page.locator('.tabs [aria-current]');
  expect(((await tab.boundingBox())?.x ?? 390) + ((await tab.boundingBox())?.width ?? 390)).toBeLessThan(390);
});

test('what is typed into a filter changes the rows at once, and the address; rows can be selected then', async () => {
  await addUser(ctx, { first_name: 'Quentin', last_name: 'Zobel' });
  const { page } = await administratorsPage(chromium, ctx);
  await page.goto(`${service.url}/dashboard/users`);
  await page.locator('.filters input').first().pressSequentially('zobel');
  await page.waitForURL('**/dashboard/users?search=zobel');
  await page.getByRole('checkbox', { name: 'Select: Quentin Zobel' }).check();
  await page.getByText('Selected: 1').waitFor();
  expect(await page.locator('.filters input').first().inputValue()).toBe('zobel');
  await page.getByRole('link', { name: 'Clear filters' }).waitFor();
  await page.getByRole('checkbox', { name: 'Select: Quentin Zobel' }).uncheck();
  await page.getByText('View', { exact: true }).click();
  await look(page, 'list-layout');
  await page.getByLabel('Rows per page').selectOption('100');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.waitForURL('**/dashboard/users?search=zobel');
  expect(await page.getByLabel('Rows per page').inputValue()).toBe('100');
});
