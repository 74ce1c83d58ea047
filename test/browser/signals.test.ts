// Streams of signals in the dashboard: an administrator sees what waits and why, pauses a stream and lets it go on.
import { expect } from 'vitest';
import { flushSecurityTrail } from '../../src/domain/audit/security-trail.js';
import type { RefusedSignal } from '../../src/domain/provider-signals/read-signal.js';
import { noteRefusedSignal } from '../../src/domain/provider-signals/receive-signal.js';
import { look, administratorsPage } from '../support/administrators-page.js';
import { sharedChromium } from '../support/chromium.js';
import { addIdentity } from '../support/assertions.js';
import { addConnection } from '../support/connections.js';
import { addClient, addUser } from '../support/data.js';
import { addProviderGrant, addProviderToken } from '../support/provider-tokens.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { addSignalStream } from '../support/signals.js';

const test = needs('chromium');
const chromium = sharedChromium();
const service = sharedService();
const ctx = contextOf(service);

test('without the API of signals the page leads to it, and then no more (specification 20.3.1)', async () => {
  const { page } = await administratorsPage(chromium, ctx);
  await page.goto(`${service.url}/dashboard/signal_streams`);
  await look(page, 'signals not yet');
  await page.getByRole('link', { name: 'Create the API of signals' }).click();
  await page.getByRole('button', { name: 'Create API resource' }).click();
  await page.getByText('ssf.manage').first().waitFor();
  await page.goto(`${service.url}/dashboard/signal_streams`);
  await page.getByText('No streams yet').waitFor();
  expect(await page.getByRole('link', { name: 'Create the API of signals' }).count()).toBe(0);
});

test('the signals of a connection are set on its form, and what was refused is on its page', async () => {
  const connection = await addConnection(ctx, {
    name: 'okta',
    display_name: 'Acme Okta',
    issuer: 'https://acme.okta.example',
    signals: 'push',
    token_storage: true,
  });
  const origin = { ip_address: '203.0.113.7', user_agent: 'Okta/1.0', request_id: 'marked-request' };
  for (const because of ['signal_not_for_us', 'signal_expired', 'signal_replayed', 'signal_invalid'] as const)
    noteRefusedSignal(ctx, connection, { because } as RefusedSignal, origin);
  await flushSecurityTrail(service.deps);
  const { page } = await administratorsPage(chromium, ctx);
  for (const [path, name] of [['', ' '], ['/refused_signals', ' refused signals '], ['/edit', ' edit ']] as const) {
    await page.goto(`${service.url}/dashboard/connections/${connection.id}${path}`);
    await look(page, `connection${name}signals`);
  } // prettier-ignore
});

test('who may have tokens at a provider, and whose are kept', async () => {
  const user = await addUser(ctx, { email: 'ada@example.com' });
  const connection = await addConnection(ctx, { name: 'google', display_name: 'Google', issuer: 'https://google.example', token_storage: true });
  const client = await addClient(ctx, { name: 'Calendar agent', is_agent: true });
  const grant = await addProviderGrant(ctx, client.id, connection.id, ['https://www.googleapis.com/auth/calendar.readonly', 'calendar', 'openid', 'email']);
  const identity_id = await addIdentity(ctx, connection, user, 'ada');
  const token = await addProviderToken(ctx, { identity: { id: identity_id, user_id: user.id, connection_id: connection.id }, client_id: client.id });
  const { page } = await administratorsPage(chromium, ctx);
  for (const path of ['provider_grants', `provider_grants/${grant.id}`, 'provider_grants/new', 'provider_tokens', `provider_tokens/${token}`, `users/${user.id}`]) {
    await page.goto(`${service.url}/dashboard/${path}`);
    await look(page, path.replaceAll(/\/[0-9a-f-]{36}/g, ' one').replace('/', ' '));
  }
}); // prettier-ignore

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
