// The events page fills while somebody looks at it.
import { expect } from 'vitest';
import { look, administratorsPage } from '../support/administrators-page.js';
import { sharedChromium } from '../support/chromium.js';
import { emitRole } from '../support/event-feed.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const chromium = sharedChromium();
const service = sharedService();
const ctx = contextOf(service);

test('an event appears as the first row as it happens, and leads to its page', async () => {
  const { page } = await administratorsPage(chromium, ctx);
  await emitRole(ctx, 'Accountant');
  await expect
    .poll(async () => {
      await page.goto(`${service.url}/dashboard/events`);
      return page.locator('tbody').textContent();
    })
    .toContain('Accountant');
  await expect.poll(() => service.deps.streams.open().length).toBeGreaterThan(0);
  await emitRole(ctx, 'Cashier');
  await page.locator('tbody tr').first().getByText('Cashier').waitFor();
  expect(await page.locator('#announcements').textContent()).toBe('role.created');
  await look(page, 'events');
  await page.locator('a.row-link').first().click();
  await page.getByText('"name": "Cashier"').waitFor();
  await look(page, 'event');
});
