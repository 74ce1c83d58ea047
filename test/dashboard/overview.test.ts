import { expect, test } from 'vitest';
import { updateClient } from '../../src/db/tables/clients.js';
import { insert } from '../../src/db/scope.js';
import { listNewUsersByDay } from '../../src/db/tables/overview.js';
import { addUserRoles, findRoleByName } from '../../src/db/tables/roles.js';
import { updateUser, type UserRow } from '../../src/db/tables/users.js';
import { deviceCodeGrantType, jwtBearerGrantType, tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { signedInWith } from '../support/administrators.js';
import { addClient, addEnvironment, addResource, addUser } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);

async function administrator(): Promise<UserRow> {
  const made = await addUser(ctx);
  const role = await findRoleByName(ctx.scope, 'administrator');
  await addUserRoles(ctx.scope, made.id, [role?.id ?? '']);
  return made;
}

/** The steps of the checklist, with whether they are done. */
const stepsOf = (html: string) =>
  Object.fromEntries(
    [...(/<section class="card steps"[\s\S]*?<\/section>/.exec(html)?.[0] ?? '').matchAll(/<li([^>]*)>[\s\S]*?step-title">([^<]*)</g)].map(
      ([, mark = '', title = '']) => [title, mark.includes('done')] as const,
    ),
  );

test('every step of the checklist can be done, and it stands in the place of charts that would be empty', async () => {
  const browser = await signedInWith(service, 'clients:read', 'clients:write', 'api_resources:read', 'api_resources:write');
  const steps = async () => stepsOf(await (await browser.get('/dashboard')).text());
  const none = {
    'Create a client': false,
    'Copy the configuration': false,
    'Add an API resource': false,
    'Sign in your first user': false,
    'Set a mail server': false,
  };
  expect(await steps()).toEqual(none);
  expect(await (await browser.get('/dashboard')).text()).not.toMatch(/class="charts"|aria-label="Range"/);
  const client = await addClient(ctx, { name: 'Mine' });
  expect(await steps()).toEqual({ ...none, 'Create a client': true });
  await updateClient(ctx.scope, client.id, { last_used_at: ctx.clock.now() });
  await addResource(ctx, { identifier: 'https://mine.example' });
  const done = { ...none, 'Create a client': true, 'Copy the configuration': true, 'Add an API resource': true };
  expect(await steps()).toEqual(done);
  const session = (await ctx.db.knex('sessions').where({ environment_id: ctx.environment.id }).first('id')) as { id: string };
  await insert(ctx.scope, 'session_clients', { session_id: session.id, client_id: client.id, created_at: ctx.clock.now() });
  expect(await steps()).toEqual({});
  expect(await (await browser.get('/dashboard')).text()).toContain('class="charts"');
});

test('whoever administers everything is asked for a second administrator and a strong factor', async () => {
  await ctx.db.knex('session_clients').delete();
  const root = await administrator();
  const browser = await signedIn(service, root);
  const steps = async () => stepsOf(await (await browser.get('/dashboard')).text());
  expect(await steps()).toMatchObject({ 'Add a passkey for yourself': false, 'Invite a second administrator': false });
  await updateUser(ctx.scope, root.id, { authenticator_kinds: ['passkey'] });
  await administrator();
  expect(await steps()).toMatchObject({ 'Add a passkey for yourself': true, 'Invite a second administrator': true });
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

test('tokens by day are those of every grant: what the chart doesn’t name is counted among the others', async () => {
  const day = ctx.clock.now();
  for (const [label, count] of [
    ['refresh_token', 3],
    [deviceCodeGrantType, 2],
    [tokenExchangeGrantType, 5],
    [jwtBearerGrantType, 7],
  ] as const)
    // prettier-ignore
    await insert(ctx.scope, 'daily_stats', { day, name: 'tokens', label, count });
  const html = await (await (await signedInWith(service, 'clients:read')).get('/dashboard?days=7')).text();
  expect(html).toContain('17 tokens issued in 7 days');
  expect(html).toContain('Refresh token: 3\nClient credentials: 0\nDevices, approvals, exchanges, assertions: 14');
});

test('kinds of environments are words, in forms and where they are only read', async () => {
  const page = async (...names: string[]) => (await (await signedInWith(service, ...names)).get('/dashboard/settings')).text();
  expect(await page('environments:read', 'environments:write')).toMatch(/<option value="development"[^>]*>\s*Development/);
  const read = await page('environments:read');
  expect(read).toMatch(/>\s*(Development|Production)\s*</);
  expect(read).not.toMatch(/>\s*(development|production)\s*</);
});

test('at most twelve tab stops stand before the content of a page, beside the link that skips them', async () => {
  const browser = await signedIn(service, await administrator());
  const html = await (await browser.get('/dashboard')).text();
  const before = html.slice(html.indexOf('<header class="bar">'), html.indexOf('<main '));
  const stops = [...before.matchAll(/<(?:a href|button|input|select|summary)\b[^>]*>/g)].map(([tag]) => tag);
  // The menu is there on a phone alone, where the navigation isn't.
  const shown = stops.filter((tag) => !/type="hidden"|class="[^"]*\bmenu\b/.test(tag));
  expect(shown.length).toBeGreaterThan(8);
  expect(shown.length).toBeLessThanOrEqual(12);
  expect(html.indexOf('Sign out')).toBeGreaterThan(html.indexOf('</main>'));
});
