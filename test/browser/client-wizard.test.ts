// An application is created by what it is, its name and its redirect URI, and gets a logo: with and without scripts, on desktops and phones.
import { join } from 'node:path';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { administratorsPage, look } from '../support/administrators-page.js';
import { picture, sharedChromium } from '../support/chromium.js';
import { png } from '../support/images.js';
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

test('a web application: three things are asked, and the last page says what was chosen, with the secret once', async () => {
  await page.goto(`${service.url}/dashboard/clients/new`);
  await look(page, 'wizard-1');
  await page.getByRole('link', { name: 'Web application' }).click();
  await page.getByLabel('Name').fill('Acme Notes');
  await page.getByRole('textbox', { name: 'Redirect URIs' }).first().fill('https://notes.example/callback');
  // All else is there, and folded away.
  expect(await page.getByRole('checkbox', { name: 'Authorization code' }).isVisible()).toBe(false);
  await look(page, 'wizard-2');
  await page.getByText('More settings').click();
  expect(await page.getByRole('checkbox', { name: 'Authorization code' }).isChecked()).toBe(true);
  await look(page, 'wizard-2-open');
  await page.getByRole('button', { name: 'Create client' }).click();
  const secret = (await page.locator('#secret-client_secret').textContent()) ?? '';
  const id =
    (await page
      .getByText(/^[0-9a-f-]{36}$/)
      .first()
      .textContent()) ?? '';
  expect(await page.locator('#snippet-variables').textContent()).toBe(
    `ISSUER=${ctx.environment.issuer}\nCLIENT_ID=${id}\nCLIENT_SECRET=${secret}\nREDIRECT_URI=https://notes.example/callback`,
  );
  await look(page, 'wizard-3');
  expect(await page.getByRole('link', { name: 'Change PKCE' }).getAttribute('href')).toBe(
    `/dashboard/clients/${id}/edit/security#require_pkce`,
  );
  await page.getByRole('link', { name: 'Change PKCE' }).click();
  await page.waitForURL('**/edit/security#require_pkce');
  expect(await page.locator('#require_pkce').isVisible()).toBe(true);
  expect(await page.content()).not.toContain(secret);
  await page.goto(`${service.url}/dashboard/clients/${id}/quick_start`);
  expect(await page.content()).not.toContain('Chosen for you');
});

test('a single-page application, whose origins follow from its redirect URIs; a device without any', async () => {
  await page.goto(`${service.url}/dashboard/clients/new?application_type=spa`);
  await page.getByLabel('Name').fill('Board');
  await page.getByRole('textbox', { name: 'Redirect URIs' }).first().fill('https://board.example/callback');
  await page.getByRole('button', { name: 'Create client' }).click();
  await page.waitForURL('**/quick_start?done=created');
  await look(page, 'wizard-3-spa');
  expect(await ctx.db.knex('clients').where({ name: 'Board' }).first()).toMatchObject({
    allowed_origins: ['https://board.example'],
    token_endpoint_auth_method: 'none',
    first_party: true,
  });
  await page.goto(`${service.url}/dashboard/clients/new`);
  await page.getByRole('link', { name: 'Device or command line' }).click();
  expect(await page.getByRole('textbox', { name: 'Redirect URIs' }).first().isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Create client' }).click();
  await page.locator('#name-error').waitFor();
  expect(await page.getByRole('textbox', { name: 'Redirect URIs' }).first().isVisible()).toBe(false);
  await page.getByLabel('Name').fill('Television');
  await page.getByRole('button', { name: 'Create client' }).click();
  await page.waitForURL('**/quick_start?done=created');
  expect(await ctx.db.knex('clients').where({ name: 'Television' }).first()).toMatchObject({
    application_type: 'native',
    grant_types: ['refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    redirect_uris: [],
  });
});

test('a machine, without scripts: its name alone, and what it still lacks', async () => {
  const plain = (await administratorsPage(browser, ctx, { javaScriptEnabled: false })).page;
  await plain.goto(`${service.url}/dashboard/clients/new`);
  await plain.getByRole('link', { name: 'Machine to machine' }).click();
  expect(await plain.getByRole('textbox', { name: 'Redirect URIs' }).count()).toBe(0);
  await plain.getByLabel('Name').fill('Nightly');
  await plain.getByRole('button', { name: 'Create client' }).click();
  expect(await plain.locator('#secret-client_secret').textContent()).toMatch(/^cs_/);
  await plain.getByRole('link', { name: 'Create client grant' }).click();
  await plain.waitForURL('**/client_grants/new?client=*');
  const file = join(mkdtempSync(join(tmpdir(), 'logo-')), 'logo.png');
  writeFileSync(file, png());
  await plain.goto(`${service.url}/dashboard/settings/logo`);
  await plain.getByLabel('Image').first().setInputFiles(file);
  await plain.getByRole('button', { name: 'Upload' }).first().click();
  await plain.getByText('Saved.').waitFor();
  await plain.getByRole('button', { name: 'Remove' }).click();
  await plain.getByText('None yet: the name is shown.').first().waitFor();
  await plain.context().close();
});

test('a logo is uploaded, replaced and removed, and the sign-in page shows it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'logo-'));
  const drawn = (name: string, width: number) => {
    const path = join(directory, name);
    writeFileSync(path, png(width, 32));
    return path;
  };
  await page.goto(`${service.url}/dashboard/settings/branding`);
  await look(page, 'logo-none');
  await page.getByRole('button', { name: 'Upload' }).first().click();
  await page.locator('.field.invalid .error').waitFor();
  await look(page, 'logo-error');
  await page.getByLabel('Image').first().setInputFiles(drawn('light.png', 120));
  await page.getByRole('button', { name: 'Upload' }).first().click();
  await page.getByText('Saved.').waitFor();
  await page.getByLabel('Image').nth(1).setInputFiles(drawn('dark.png', 64));
  await page.getByRole('button', { name: 'Upload' }).first().click();
  await page.getByRole('button', { name: 'Replace' }).nth(1).waitFor();
  const loaded = () =>
    page.evaluate('[...document.images].every((image) => image.complete && image.naturalWidth > 0) && document.images.length');
  await expect.poll(loaded).toBe(2);
  await look(page, 'logo');
  await page.goto(`${service.url}/dashboard/settings/branding#branding.logo_url`);
  await picture(page, 'settings-logo');
  const fresh = await (await browser.newContext({ viewport: { width: 390, height: 700 } })).newPage();
  await fresh.goto(`${service.url}/login`);
  expect(await fresh.evaluate('document.images[0].naturalWidth')).toBe(120);
  await picture(fresh, 'login-logo');
  await fresh.emulateMedia({ colorScheme: 'dark' });
  await picture(fresh, 'login-logo-dark');
  await fresh.context().close();
});
