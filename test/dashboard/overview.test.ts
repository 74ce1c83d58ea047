import { beforeAll, expect, test } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import { updateClient } from '../../src/db/tables/clients.js';
import { listNewUsersByDay } from '../../src/db/tables/overview.js';
import { signedInWith } from '../support/administrators.js';
import { addClient, addEnvironment, addUser } from '../support/data.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();
let ctx: Context;

beforeAll(async () => {
  ctx = await service.context();
});

/** The steps of the checklist, with whether they are done. */
const stepsOf = (html: string) =>
  Object.fromEntries(
    ['Create a client', 'Copy the configuration', 'Sign somebody in'].map((title) => {
      const item = html.split(/<li/).find((one) => one.includes(title)) ?? '';
      return [title, item.includes('Done')];
    }),
  );

test('every step of the checklist can be done: the configuration is once the client has used it', async () => {
  const browser = await signedInWith(service, 'clients:read', 'clients:write');
  const steps = async () => stepsOf(await (await browser.get('/dashboard')).text());
  expect(await steps()).toEqual({ 'Create a client': false, 'Copy the configuration': false, 'Sign somebody in': false });
  const client = await addClient(ctx, { name: 'Mine' });
  expect(await steps()).toEqual({ 'Create a client': true, 'Copy the configuration': false, 'Sign somebody in': false });
  await updateClient(ctx.scope, client.id, { last_used_at: ctx.clock.now() });
  expect(await steps()).toEqual({ 'Create a client': true, 'Copy the configuration': true, 'Sign somebody in': false });
});

test('new users by day are those of the environment, for who may read users', async () => {
  const other = await addEnvironment(service.deps, 'elsewhere');
  await addUser(other);
  const now = ctx.clock.now();
  const before = (await listNewUsersByDay(ctx.scope, new Date(0))).reduce((sum, { count }) => sum + count, 0);
  await addUser(ctx, { created_at: new Date(now.getTime() - 3 * 86_400_000) });
  const days = await listNewUsersByDay(ctx.scope, new Date(now.getTime() - 7 * 86_400_000));
  expect(days[0]).toEqual({ day: new Date(now.getTime() - 3 * 86_400_000).toISOString().slice(0, 10), count: 1 });
  expect((await listNewUsersByDay(other.scope, new Date(0))).map(({ count }) => count)).toEqual([1]);
  const browser = await signedInWith(service, 'users:read');
  expect(await (await browser.get('/dashboard?days=7')).text()).toContain(`${before + 2} new users in 7 days`);
  const without = await signedInWith(service, 'clients:read');
  expect(await (await without.get('/dashboard')).text()).not.toContain('chart-new-users');
});

test('kinds of environments are words, in forms and where they are only read', async () => {
  const page = async (...names: string[]) => (await (await signedInWith(service, ...names)).get('/dashboard/settings')).text();
  expect(await page('environments:read', 'environments:write')).toMatch(/<option value="development"[^>]*>\s*Development/);
  const read = await page('environments:read');
  expect(read).toMatch(/>\s*(Development|Production)\s*</);
  expect(read).not.toMatch(/>\s*(development|production)\s*</);
});
