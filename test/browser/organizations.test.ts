// What a customer's people see (invitation, chooser, their organizations) without scripts, and the organization in the dashboard, tab by tab.
import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { permit } from '../support/administrators.js';
import { axeViolations } from '../support/axe.js';
import { pkcePair } from '../support/browser.js';
import { picture, policyViolations, sharedChromium, signInAt } from '../support/chromium.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { sendScim } from '../support/directories.js';
import { addOrganization, invitationPath, invite } from '../support/invitations.js';
import { link, links, manage, startManagedService, type Document } from '../support/management.js';
import { addDomain } from '../support/organizations.js';
import { needs } from '../support/programs.js';
import { askForSetupLink } from '../support/setup-links.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const service = sharedService(startManagedService);
const ctx = contextOf(service);
const api = shared(() => manage(service.url));
const chromium = sharedChromium();
let acme: Document;
let client: TestClient;

const lightDesktop = { viewport: { width: 1280, height: 860 }, colorScheme: 'light' } as const;
const darkPhone = { viewport: { width: 390, height: 844 }, colorScheme: 'dark' } as const;
const oidc = { strategy: 'oidc', issuer: 'https://id.acme.example', provider_client_id: 'x', provider_client_secret: 's' };

/** An organization that has something of everything. */
beforeAll(async () => {
  const role = await api.create('roles', { name: 'Editor', kind: 'organization' });
  acme = await addOrganization(api, { name: 'acme', display_name: 'Acme Corporation', primary_color: '#0b6e4f', external_id: 'crm-4711' });
  const organization = link('organization', acme['id']);
  const data = (type: string, attributes: Document, more: Document = {}) => ({
    data: { type, attributes, relationships: { organization, ...more } },
  });
  for (const email of ['grace.hopper@acme.example', 'a.very.long.address.of.somebody@subsidiary.of.the.corporation.example']) {
    const user = await addUser(ctx, { email });
    await api.post(
      '/organization_memberships',
      data('organization_membership', {}, { user: link('user', user.id), roles: links('role', role['id']) }),
    );
  }
  await invite(api, { organization: acme, email: 'invited@elsewhere.example' });
  await addDomain(ctx, { id: acme['id'] as string }, 'acme.example');
  await api.post('/organization_domains', data('organization_domain', { domain: 'acme-labs.example' }));
  await api.post('/connections', data('connection', { name: 'acme-entra', display_name: 'Acme Entra ID', ...oidc }));
  const directory = await api.post('/directories', data('directory', {}));
  const { token, base_url } = directory.body['data'].attributes as { token: string; base_url: string };
  const person = await sendScim(`${base_url}/Users`, token, 'POST', { userName: 'ken@acme.example' });
  await sendScim(`${base_url}/Groups`, token, 'POST', { displayName: 'Engineering', members: [{ value: person.body.id }] });
  await sendScim(`${base_url}/Users`, token, 'POST', { userName: 'ken@other.example' });
  await askForSetupLink(api, acme);
  client = await addClient(ctx, {
    name: 'Example App',
    organization_usage: 'require',
    initiate_login_uri: `${service.url}/docs`,
    redirect_uris: [`${service.url}/healthz`],
  });
});

async function visit(options: BrowserContextOptions = {}): Promise<{ page: Page; violations: string[] }> {
  const context = await chromium.newContext({ ...lightDesktop, ...options });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  return { page, violations: policyViolations(page) };
}

async function look(page: Page, name: string): Promise<void> {
  expect([name, await axeViolations(page)]).toEqual([name, []]);
  expect([name, await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)]).toEqual([name, true]);
  await picture(page, name);
}

const authorizePath = () =>
  `/oauth/authorize?${new URLSearchParams({ client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', response_type: 'code', scope: 'openid', organization: 'choose', code_challenge: pkcePair().challenge, code_challenge_method: 'S256' }).toString()}`;

test('a stranger accepts an invitation without scripts: registers from there, and is a member (specification 16.10.6)', async () => {
  await invite(api, { organization: acme, email: 'stranger@elsewhere.example' });
  const { page, violations } = await visit({ javaScriptEnabled: false });
  await page.goto(service.url + (await invitationPath(service.url, 'stranger@elsewhere.example')));
  await picture(page, 'invitation-stranger');
  await page.locator('#register button').click();
  await picture(page, 'invitation-register');
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('Lovelace');
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.locator('main form button[type=submit]').last().click();
  await page.waitForURL('**/account');
  expect(await page.locator('main').innerText()).toContain('Acme Corporation');
  expect(violations).toEqual([]);
  await page.context().close();
});

const forms = [
  { name: 'english', locale: 'en', ...lightDesktop },
  { name: 'german-dark-phone', locale: 'de', ...darkPhone },
  { name: 'arabic', locale: 'ar', ...lightDesktop },
  { name: 'arabic-dark-phone', locale: 'ar', ...darkPhone },
] as const;

test.each(process.env['SCREENSHOTS'] ? forms : forms.slice(0, 2))(
  'a user accepts one, and chooses an organization, without scripts ($name; specification 16.10.4, 16.2.3)',
  async ({ name, ...options }) => {
    const user = await addUser(ctx);
    const globex = await addOrganization(api, { display_name: 'Globex' });
    const hooli = await addOrganization(api, { display_name: 'Hooli International Holdings, Research and Development' });
    for (const organization of [globex, acme]) {
      await invite(api, { organization, email: user.email });
      const { page, violations } = await visit({ ...options, javaScriptEnabled: false });
      await page.goto(service.url + (await invitationPath(service.url, user.email)));
      await picture(page, `invitation-known-${name}`);
      await page.locator('main a.button').click();
      await page.locator('#password').fill(password);
      await page.locator('main form button[type=submit]').first().click();
      await page.locator('#accept').waitFor();
      await picture(page, `invitation-accept-${name}`);
      await page.locator('#accept button').click();
      await page.waitForURL('**/account');
      if (organization !== acme) {
        await page.context().close();
        continue;
      }
      await invite(api, { organization: hooli, email: user.email });
      await page.goto(service.url + authorizePath());
      await picture(page, `chooser-${name}`);
      await page.getByRole('button', { name: 'Acme Corporation' }).click();
      await page.waitForURL(`${client.redirect_uris[0] ?? ''}?*`);
      expect(new URL(page.url()).searchParams.get('code')).not.toBeNull();
      await page.goto(service.url + '/account');
      await picture(page, `account-organizations-${name}`);
      await page.goto(service.url + '/invitations/in_gone');
      await picture(page, `invitation-gone-${name}`);
      expect(violations).toEqual([]);
      await page.context().close();
    }
  },
);

const tabs = ['', '/members', '/invitations', '/domains', '/connections', '/directory', '/groups', '/setup', '/activity'];

test.each([
  { name: 'desktop', ...lightDesktop },
  { name: 'phone', ...darkPhone },
])('every tab of an organization in the dashboard can be used by everybody ($name)', async ({ name, ...options }) => {
  const admin = await addUser(ctx);
  await permit(ctx, admin.id, ...managementPermissions);
  const { page, violations } = await visit(options);
  await signInAt(page, service.url, admin.email, password);
  await page.waitForURL('**/account');
  await page.goto(`${service.url}/dashboard/organizations`);
  await look(page, `organizations-${name}`);
  for (const tab of tabs) {
    const answer = await page.goto(`${service.url}/dashboard/organizations/${acme['id']}${tab}`);
    expect([tab, answer?.status()]).toEqual([tab, 200]);
    await look(page, `organization${tab.replace('/', '-')}-${name}`);
  }
  for (const path of ['organizations/new', `organizations/${acme['id']}/edit`, `organization_invitations/new?organization=${acme['id']}`]) {
    await page.goto(`${service.url}/dashboard/${path}`);
    await look(page, `form-${path.split('/')[0]}-${path.includes('edit') ? 'edit' : 'new'}-${name}`);
  }
  expect(violations).toEqual([]);
  await page.context().close();
});
