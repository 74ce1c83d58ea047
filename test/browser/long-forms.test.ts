// Long forms as pages by subject: the button that saves stays in sight, changes aren't lost by leaving, and no page is long.
import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { apiResourcesPresentation } from '../../src/dashboard/pages/apis/api-resources.js';
import { clientsPresentation } from '../../src/dashboard/pages/clients/clients.js';
import { settingsPath, settingsSubjects } from '../../src/dashboard/pages/settings/sections.js';
import type { Presentation } from '../../src/dashboard/parts/records/presentation.js';
import { administratorsPage, look } from '../support/administrators-page.js';
import { sharedChromium } from '../support/chromium.js';
import { addClient, addResource } from '../support/data.js';
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

/** Follows the link; answers what the browser asked about it, null for nothing, and stays or goes. */
async function leave(label: string, decision: 'stay' | 'go'): Promise<string | null> {
  let question: string | null = null;
  const answer = (dialog: { type(): string; accept(): Promise<void>; dismiss(): Promise<void> }) => {
    question = dialog.type();
    return decision === 'go' ? dialog.accept() : dialog.dismiss();
  };
  page.once('dialog', (dialog) => void answer(dialog));
  await page.getByRole('link', { name: label, exact: true }).click();
  if (decision === 'go') await page.waitForURL((url) => !url.pathname.endsWith('/security'));
  page.removeAllListeners('dialog');
  return question;
}

test('no page of the settings, of a client or of an API resource is long, and each is fit for every reader', async () => {
  const client = `/dashboard/clients/${(await addClient(ctx, { name: 'Notes' })).id}`;
  const api = `/dashboard/api_resources/${(await addResource(ctx, { identifier: 'https://notes.example' })).id}`;
  const forms = (record: string, { subjects = [] }: Presentation) => subjects.map(({ name }) => `${record}/edit/${name}`);
  const records = [client, `${client}?show=all`, ...forms(client, clientsPresentation), ...forms(api, apiResourcesPresentation)];
  for (const path of [...settingsSubjects.map(settingsPath), ...records]) {
    await page.goto(service.url + path);
    expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThan(4000);
    await look(page, path.replaceAll(/[^a-z]+/g, '-'));
  }
}, 240_000);

test('the button that saves is in sight from the first field to the last, and covers none that has the focus', async () => {
  await page.setViewportSize({ width: 1280, height: 500 });
  await page.goto(`${service.url}/dashboard/settings/security`);
  const bar = page.locator('.save-bar');
  const inputs = page.locator('main form input:not([type=hidden]), main form select');
  for (let index = 0; index < (await inputs.count()); index++) {
    await inputs.nth(index).focus();
    const [field, buttons] = [await inputs.nth(index).boundingBox(), await bar.boundingBox()];
    expect((buttons?.y ?? 0) + (buttons?.height ?? 0)).toBeLessThanOrEqual(501);
    expect((field?.y ?? 0) + (field?.height ?? 0)).toBeLessThanOrEqual(buttons?.y ?? 0);
  }
});

test('leaving changes that aren’t saved takes a confirmation; one that was taken back or saved takes none (specification 9.2.7)', async () => {
  await page.goto(`${service.url}/dashboard/settings/security`);
  const [field, note] = [page.getByLabel('Minimum password length'), page.getByText('Unsaved changes')];
  await field.fill('12');
  expect(await note.isVisible()).toBe(true);
  expect(await leave('Protocol', 'stay')).toBe('beforeunload');
  expect(await field.inputValue()).toBe('12');
  await field.fill('8');
  expect(await note.isVisible()).toBe(false);
  expect(await leave('Protocol', 'go')).toBeNull();

  await page.goto(`${service.url}/dashboard/settings/security`);
  await field.fill('10');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  expect([await field.inputValue(), await note.isVisible()]).toEqual(['10', false]);

  // What was refused isn't saved either.
  await field.fill('3');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('.field .error').waitFor();
  expect(await note.isVisible()).toBe(true);
  expect(await field.inputValue()).toBe('3');
});
