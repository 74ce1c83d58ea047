// The page of the events feed, and its stream.
import { beforeAll, expect, test } from 'vitest';
import type { Browser } from '../support/browser.js';
import { addUser } from '../support/data.js';
import { emitRole, openStream } from '../support/event-feed.js';
import { permit } from '../support/administrators.js';
import { startManagedService } from '../support/management.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService(() => startManagedService());
const ctx = contextOf(service);
let browser: Browser & { session_id: string };

beforeAll(async () => {
  const user = await addUser(ctx);
  await permit(ctx, user.id, 'events:read', 'roles:read', 'permissions:read', 'users:read');
  browser = await signedIn(service, user);
});

const cookieOf = ({ cookies }: Browser) => ({ cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') });
const stream = (query = '?page[after]=now', of = browser) => openStream(`${service.url}/dashboard/events/stream${query}`, cookieOf(of));

test('the page has the newest events first, what they are about, and each by itself with its payload', async () => {
  await emitRole(ctx, 'Accountant');
  await expect.poll(async () => (await browser.get('/dashboard/events')).text()).toContain('Accountant');
  const text = await (await browser.get('/dashboard/events?event_type=role.created')).text();
  expect(text).toContain('data-live="/dashboard/events/stream?page%5Bafter%5D=now&amp;filter%5Bevent_type%5D=role.created"');
  const [, path] = /class="row-link" href="([^"]+)"/.exec(text) ?? [];
  expect(await (await browser.get(path as string)).text()).toContain('&#34;name&#34;: &#34;Accountant&#34;');
  // What the viewer may not read is no choice.
  expect(text).not.toContain('value="client.created"');
});

test('its stream tells what the list shows of each event, and ends with the session (attack 48.1450)', async () => {
  const open = await stream();
  expect([open.status, open.headers['content-type']]).toEqual([200, 'text/event-stream']);
  await emitRole(ctx, 'Cashier');
  const told = () => [...open.text().matchAll(/^data: (.*)$/gm)].map(([, line]) => JSON.parse(line as string));
  await expect.poll(() => told().length).toBe(1);
  expect(told()[0]).toEqual({
    path: expect.stringMatching(/^\/dashboard\/events\/[0-9a-f-]{36}$/),
    event: 'role.created',
    about: 'Cashier',
    timestamp: expect.any(String),
  });
  await ctx.db.knex('sessions').where({ id: browser.session_id }).update({ revoked_at: new Date() });
  await open.ended;
  await ctx.db.knex('sessions').where({ id: browser.session_id }).update({ revoked_at: null });
});

test('whoever may not read events gets neither', async () => {
  const user = await addUser(ctx);
  await permit(ctx, user.id, 'roles:read');
  const other = await signedIn(service, user);
  expect((await other.get('/dashboard/events')).status).toBe(403);
  const refused = await stream('', other);
  await refused.ended;
  expect(refused.status).toBe(403);
  const stranger = await openStream(`${service.url}/dashboard/events/stream`, {});
  await stranger.ended;
  expect(stranger.status).toBe(303);
});

test.each(['?page[after]=abc', '?nonsense=1'])('%s is refused with 400', async (query) => {
  const refused = await stream(query);
  await refused.ended;
  expect(refused.status).toBe(400);
});
