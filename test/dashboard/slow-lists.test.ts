// A list whose rows can't be found in time says what makes it quick: in the API, and on the page with the form to do it.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { manage } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let locking: pg.Client;

const api = shared(() => manage(service.url));
const browser = shared(() => signedInWith(service, 'webhooks:read', 'users:read'));

beforeAll(async () => {
  locking = new pg.Client({ connectionString: service.databaseUrl });
  await locking.connect();
  await locking.query('begin; lock table webhook_deliveries in access exclusive mode');
});
afterAll(() => locking?.end());

test('the API says so, and when to ask again', async () => {
  const { status, body, headers } = await api.get('/webhook_deliveries?filter[response_status]=204');
  expect([status, headers.get('retry-after')]).toEqual([503, '5']);
  expect(body['errors']).toMatchObject([{ status: '503', code: 'list_took_too_long', title: 'List took too long' }]);
});

test('the page says so above its filters, which keep what was asked for', async () => {
  const answer = await browser.get('/dashboard/webhook_deliveries?response_status=4xx');
  const page = await answer.text();
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
  expect(page).toContain('narrow it with another filter, or sort it by the time that it is filtered by');
  expect(page).toMatch(/<option value="4xx" selected/);
});

test('a tab that is such a list says when to ask again', async () => {
  const webhook = await api.create('webhooks', { name: 'Slow', url: 'https://receiver.example/', events: ['user.created'] });
  const answer = await browser.get(`/dashboard/webhooks/${webhook['id'] as string}/deliveries`);
  expect([answer.status, answer.headers.get('retry-after'), await answer.text()]).toEqual([503, '5', expect.stringContaining('list_took_too_long')]);
}); // prettier-ignore
