// The settings by subject: a page each, which saves what it shows and nothing else.
import { expect, test } from 'vitest';
import { settingsPath, settingsSubjects } from '../../src/dashboard/pages/settings/sections.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { registry } from '../../src/management/resources/index.js';
import { signedInWith } from '../support/administrators.js';
import { formValues } from '../support/dashboard-forms.js';
import { shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const browser = shared(() => signedInWith(service, ...managementPermissions));

const stored = async () => {
  const { id } = (await service.context()).environment;
  return (await service.deps.db.knex('environments').where({ id }).first()) as Record<string, unknown>;
};
const fieldNames = settingsSubjects.flatMap(({ fields }) => fields.map(({ name }) => name));
const pageOf = async (at: string, by = browser) => (await by.get(at)).text();

test('every setting is on one page, and each page is one form with one button that saves', async () => {
  expect(new Set(fieldNames).size).toBe(fieldNames.length);
  // The one follows from a custom domain, the other is another name of `client_registration_policy`.
  const elsewhere = ['base_url_issuer_until', 'dynamic_registration_enabled'];
  const settable = Object.keys(registry.byPath.get('environments')?.update?.schema.shape ?? {}).filter((one) => !elsewhere.includes(one));
  expect([...new Set(fieldNames.map((name) => name.split('.')[0]))].toSorted()).toEqual(settable.toSorted());
  for (const subject of settingsSubjects) {
    const page = await pageOf(settingsPath(subject));
    expect(page.match(/<form id=/g)).toHaveLength(1);
    expect(page).toMatch(new RegExp(`<a href="${settingsPath(subject)}" aria-current="page">${subject.title}<`));
  }
  expect((await browser.get('/dashboard/settings/nothing')).status).toBe(404);
});

test('a page saves its own fields alone: those of another that are sent along change nothing (specification 9.2.7, attack 17.1160)', async () => {
  const before = await stored();
  const values = formValues(await pageOf('/dashboard/settings'));
  const foreign = { registration_enabled: 'on', lockout_threshold: '99', second_factor_policy: 'off', session_lifetime: '60' };
  const saved = await browser.post('/dashboard/settings/general', { ...values, ...foreign, name: 'Shop' });
  expect([saved.status, saved.headers.get('location')]).toEqual([303, '/dashboard/settings?done=updated']);
  const { name, updated_at: _at, version: _version, ...rest } = await stored();
  const { name: _name, updated_at: _before, version: _earlier, ...unchanged } = before;
  expect([name, rest]).toEqual(['Shop', unchanged]);
});

test('whoever may not change what guards everybody’s sign-in saves the page that has it, but for that (specification 9.2.7)', async () => {
  const clerk = await signedInWith(service, 'environments:read', 'environments:write');
  const [page, form] = ['/dashboard/settings', '/dashboard/settings/general'];
  const saved = await clerk.post(form, { ...formValues(await pageOf(page, clerk)), support_email: 'help@example.com' });
  expect(saved.status).toBe(303);
  expect((await clerk.post(form, { ...formValues(await pageOf(page, clerk)), kind: 'production' })).status).toBe(403);
  expect(await stored()).toMatchObject({ support_email: 'help@example.com', kind: 'development' });
});
