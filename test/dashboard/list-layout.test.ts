// How a browser has a list: the columns it shows and the rows of a page.
import { beforeAll, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { csrfOf, type Browser } from '../support/browser.js';
import { addUser } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const path = '/dashboard/preferences/list';
const list = '/dashboard/users?search=zara';
let browser: Browser;

beforeAll(async () => {
  for (let n = 0; n < 60; n++) await addUser(ctx, { first_name: 'Zara', email: `zara${n}@people.example` });
  browser = await signedInWith(service, 'users:read', 'clients:read');
});

const html = async (at: string) => (await (await browser.get(at)).text()).replaceAll('&amp;', '&');
const columnsIn = (page: string) => [...page.matchAll(/<th scope="col"[^>]*>(?:<a[^>]*>)?([^<]+)/g)].map(([, label = '']) => label.trim());
const shownIn = (page: string) => /<p class="row-count">([^<]+)</.exec(page)?.[1] ?? null;
const choose = async (fields: Readonly<Record<string, string>>, _csrf?: string) =>
  browser.post(path, { _csrf: _csrf ?? csrfOf(await html(list)), list: 'users', size: '25', return_to: list, ...fields });
const allBoxes = (page: string) => Object.fromEntries([...page.matchAll(/name="(column:[^"]+)"/g)].map(([, name = '']) => [name, 'on']));

test('a browser chooses columns and the rows of a page, for one list, until it chooses otherwise (specification 9.2.17)', async () => {
  const before = await html(list);
  const [first, second, ...others] = columnsIn(before);
  expect([shownIn(before), others.length > 0]).toEqual(['1–25 of 60', true]);
  const boxes = allBoxes(before);
  expect(Object.keys(boxes)).toEqual([second, ...others].map((label) => `column:${label}`));
  const { [`column:${second}`]: _left, ...without } = boxes;
  const chosen = await choose({ size: '50', ...without });
  expect([chosen.status, chosen.headers.get('location')]).toEqual([303, list]);
  const after = await html(list);
  expect([columnsIn(after), shownIn(after)]).toEqual([[first, ...others], '1–50 of 60']);
  const next = /href="([^"]+)" rel="next"/.exec(after)?.[1] ?? '';
  const last = await html(next);
  expect([shownIn(last), shownIn(await html(/href="([^"]+)" rel="prev"/.exec(last)?.[1] ?? ''))]).toEqual(['51–60 of 60', '1–50 of 60']);
  await choose(boxes);
  expect([columnsIn(await html(list)), browser.cookies.get('idp_dashboard_layouts') || null]).toEqual([columnsIn(before), null]);
});

test('without any box the first column stays; an odd number of rows is 25, another list is none', async () => {
  await choose({ size: '5000' });
  const page = await html(list);
  expect([columnsIn(page).length, shownIn(page)]).toEqual([1, '1–25 of 60']);
  await choose(allBoxes(page));
  expect((await choose({ list: '__proto__', size: '100' })).status).toBe(303);
  expect(shownIn(await html(list))).toBe('1–25 of 60');
});

test('an odd cookie changes nothing', async () => {
  const full = columnsIn(await html(list));
  const layouts = [[['users', { size: 1e9, hidden: [] }]], [['users', { size: 50 }]], { users: 1 }, 'null'];
  for (const value of [...layouts.map((one) => encodeURIComponent(JSON.stringify(one))), '%E0%A4%A', '[']) {
    browser.cookies.set('idp_dashboard_layouts', value);
    const page = await html(list);
    expect([value, columnsIn(page), shownIn(page)]).toEqual([value, full, '1–25 of 60']);
  }
});

test('it leads to pages of ours only, and takes the token of one (attack 17.1161)', async () => {
  expect((await choose({ return_to: 'https://evil.example/' })).headers.get('location')).toBe('/dashboard');
  const forged = await choose({ size: '50' }, 'made up');
  expect([forged.status, forged.headers.get('set-cookie')]).toEqual([403, null]);
});
