// Streams of signals in the dashboard: an administrator sees what waits and why, pauses a stream and lets it go on.
import { expect } from 'vitest';
import { look, administratorsPage } from '../support/administrators-page.js';
import { sharedChromium } from '../support/chromium.js';
import { addClient } from '../support/data.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { addSignalStream } from '../support/signals.js';

const test = needs('chromium');
const chromium = sharedChromium();
const service = sharedService();
const ctx = contextOf(service);

test('a stream that is behind says so, is paused and resumed (specification 20.5.4)', async () => {
  const { id } = await addClient(ctx, { name: 'Acme Desk' });
  const stream = await addSignalStream(ctx, id);
  await ctx.db.knex('signal_sets').insert({
    environment_id: ctx.environment.id, signal_stream_id: stream.id, txn: stream.id, event: 'verification', data: {},
    occurred_at: new Date(Date.now() - 3 * 3_600_000),
  }); // prettier-ignore
  const { page } = await administratorsPage(chromium, ctx);
  await page.goto(`${service.url}/dashboard/signal_streams`);
  expect(await page.locator('tbody').textContent()).toContain('Acme Desk');
  expect(await page.locator('tbody').textContent()).toContain('3 hours');
  await look(page, 'signal streams');
  await page.locator('a.row-link').first().click();
  await look(page, 'signal stream');
  await page.getByRole('link', { name: 'Pause' }).click();
  await look(page, 'pause a signal stream');
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Paused by an administrator').first().waitFor();
  await look(page, 'paused signal stream');
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('Enabled').first().waitFor();
});
