// An import in a real browser: its file, what becomes of each attribute, and how far it is.
import { expect } from 'vitest';
import { administratorsPage, look } from '../support/administrators-page.js';
import { sharedChromium } from '../support/chromium.js';
import { ndjson, runImports } from '../support/imports.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const chromium = sharedChromium();
const service = sharedService();
const ctx = contextOf(service);

test.each([true, false])(
  'a file is looked at before anything is imported, and its rows that failed are files; scripts: %s (specification 18.2.12)',
  async (javaScriptEnabled) => {
    const { page } = await administratorsPage(chromium, ctx, { javaScriptEnabled });
    const [name, domain] = javaScriptEnabled ? ['imports', 'with.example'] : ['imports-plain', 'without.example'];
    await page.goto(`${service.url}/dashboard/user_imports/new`);
    await page.getByRole('button', { name: 'Continue' }).click();
    const rows = [
      { email: `ada@${domain}`, first_name: 'Ada', email_verified: true, password_hash: `$2b$10$${'A'.repeat(53)}`, metadata: { plan: 'pro' } },
      { email: `grace@${domain}`, first_name: 'Grace', frist_name: 'Grace', roles: ['nobody'], identities: [{ connection: 'google', subject: '1' }] },
      { email: 'no address', external_id: 'customer-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789' },
    ]; // prettier-ignore
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'people.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from(ndjson(rows)) });
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    await page.getByRole('heading', { name: 'Attributes of the first 3 rows' }).waitFor();
    if (javaScriptEnabled) await look(page, `${name}-preview`);
    await page.getByRole('button', { name: 'Start import' }).click();
    await page.locator('progress').waitFor();
    if (javaScriptEnabled) await look(page, `${name}-queued`);
    await runImports(service);
    await page.getByRole('link', { name: 'Refresh' }).click();
    expect(await page.locator('progress').evaluate((bar) => (bar as unknown as { position: number }).position)).toBe(1);
    await page.getByRole('link', { name: 'Failed rows' }).click();
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'CSV' }).click()]);
    expect(file.suggestedFilename()).toMatch(/^failed-rows-.*\.csv$/);
    if (javaScriptEnabled) await look(page, `${name}-failed`);
    await page.context().close();
  },
);
