// The page of an organization.
import { beforeAll, expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import type { OrganizationRow } from '../../src/db/tables/organizations.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf, type Browser } from '../support/browser.js';
import { addOrganization } from '../support/organizations.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const acme: OrganizationRow = shared(() => addOrganization(ctx, { display_name: 'Acme' }));
let admin: Browser;
beforeAll(async () => {
  admin = await signedInWith(service, ...managementPermissions);
});

const page = async (path: string) => (await admin.get(`/dashboard${path}`)).text();
const own = (tab: string) => page(`/organizations/${acme.id}/${tab}`);
const post = async (path: string, fields: Record<string, string>) =>
  admin.post(`/dashboard/${path}`, { _csrf: csrfOf(await page(`/${path}/new`)), organization: acme.id, ...fields });

test('its activity tells what was done to what is its own, and nothing of another’s', async () => {
  await addOrganization(ctx, { display_name: 'Initech' });
  expect(await own('activity')).toContain('Nothing yet');
  expect((await post('organization_domains', { domain: 'told.example' })).status).toBe(303);
  expect(await own('activity')).toContain('told.example');
  const other = await addOrganization(ctx);
  expect(await page(`/organizations/${other.id}/activity`)).toContain('Nothing yet');
});

test('a directory is offered while there is none', async () => {
  expect(await own('directory')).toContain('Set up directory');
  expect((await post('directories', {})).status).toBeLessThan(400);
  expect(await own('directory')).not.toContain('Set up directory');
});

test('how long invitations and set-up links are good is said in days', async () => {
  for (const path of ['organization_invitations', 'setup_links']) {
    const form = await page(`/${path}/new?organization=${acme.id}`);
    expect(form).toMatch(/name="expires_in"[^>]* value="7"|value="7"[^>]* name="expires_in"/);
    expect(form).toMatch(/<option value="days" selected/);
  }
  const made = await post('organization_invitations', { email: 'guest@else.example', expires_in: '2', 'expires_in:unit': 'days' });
  expect(made.status).toBe(303);
  const row = await ctx.db
    .knex('organization_invitations')
    .where({ email: 'guest@else.example' })
    .first<{ sent_at: Date; expires_at: Date }>();
  expect(Number(row?.expires_at) - Number(row?.sent_at)).toBe(2 * 86_400_000);
});
