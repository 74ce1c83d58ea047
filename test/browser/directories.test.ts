// A directory from its set-up in the dashboard to a group with a role, and what its page says of a request that failed.
import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { insertRole } from '../../src/db/tables/roles.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { uuidv7 } from '../../src/lib/random.js';
import { permit } from '../support/administrators.js';
import { axeViolations } from '../support/axe.js';
import { picture, sharedChromium, signInAt } from '../support/chromium.js';
import { addUser, password } from '../support/data.js';
import { addOrganization, addVerifiedDomain, sendScim } from '../support/directories.js';
import { needs } from '../support/programs.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const browser = sharedChromium();
const service = sharedService();
const ctx = contextOf(service);
let page: Page;

const organization = shared(() => addOrganization(ctx, { name: 'acme', display_name: 'Acme Ltd' }));

beforeAll(async () => {
  await addVerifiedDomain(ctx, organization.id, 'acme.example');
  const now = ctx.clock.now();
  const stamps = { id: uuidv7(now.getTime()), created_at: now, updated_at: now };
  await insertRole(ctx.scope, { ...stamps, name: 'Editor', kind: 'organization' });
  const admin = await addUser(ctx);
  await permit(ctx, admin.id, ...managementPermissions);
  page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  await signInAt(page, service.url, admin.email, password);
  await page.waitForURL('**/account');
});

const main = () => page.locator('main').innerText();

test('a directory is set up, shows its token once, and tells of its requests; a group gets a role', async () => {
  await page.goto(`${service.url}/dashboard/organizations/${organization.id}/directory`);
  expect(await main()).toContain('No directory yet');
  await page.getByRole('link', { name: 'Set up directory' }).click();
  await picture(page, 'directory-new');
  await page.getByRole('button', { name: 'Set up directory' }).click();
  await page.waitForLoadState();
  const token = /scim_[\w-]{43}/.exec((await page.content()) ?? '')?.[0] ?? '';
  expect(token).not.toBe('');
  await picture(page, 'directory-token');
  const row = (await ctx.db.knex('directories').where({ organization_id: organization.id }).first()) as { id: string };
  const url = `${service.url}/scim/v2/${row.id}`;
  const { body } = await sendScim(`${url}/Users`, token, 'POST', { userName: 'ada@acme.example' });
  await sendScim(`${url}/Users`, token, 'POST', { userName: 'eve@elsewhere.example' });
  await sendScim(`${url}/Groups`, token, 'POST', { displayName: 'Writers', members: [{ value: (body as { id: string }).id }] });

  await page.goto(`${service.url}/dashboard/directories/${row.id}`);
  const said = await main();
  expect(said).not.toContain(token);
  for (const text of [url, 'Last requests', 'POST /Users', '400 invalidValue', 'elsewhere.example is no verified domain', '201'])
    expect(said).toContain(text);
  expect(await axeViolations(page)).toEqual([]);
  await picture(page, 'directory');

  await page.goto(`${service.url}/dashboard/organizations/${organization.id}/groups`);
  await picture(page, 'organization-groups');
  await page.getByRole('link', { name: 'Writers' }).click();
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByLabel('Editor').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.waitForLoadState();
  expect(await main()).toContain('Editor');
  await picture(page, 'group');

  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${service.url}/dashboard/directories/${row.id}`);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  await picture(page, 'directory-phone-dark');
});
