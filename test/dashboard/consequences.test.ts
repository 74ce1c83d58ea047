// What goes along is told before it goes: every act that deletes says so, with numbers.
import { beforeAll, expect, test } from 'vitest';
import { consequences } from '../../src/dashboard/parts/records/consequences.js';
import { presentations } from '../../src/dashboard/pages/index.js';
import { countDependents, maxDependentsCounted, type Counted, type DependedOn } from '../../src/db/tables/dependents.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { sessionBounds } from '../../src/domain/sessions/sessions.js';
import { resources } from '../../src/management/resources/index.js';
import { signedInWith } from '../support/administrators.js';
import { Browser } from '../support/browser.js';
import { addClient, addEnvironment, addUser, password } from '../support/data.js';
import { links, manage, secondEnvironment } from '../support/management.js';
import { authorizeCode, redeem } from '../support/oauth.js';
import { oneOfEach } from '../support/one-of-each.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let browser: Browser;
/** The client of the federated credential. */
let job: string;
/** A record of every collection, by its path. */
const ids = new Map<string, string>();
const idOf = (path: string) => ids.get(path) as string;

const ctx = contextOf(service);
const api = shared(() => manage(service.url));

beforeAll(async () => {
  const records = await oneOfEach(service, api);
  for (const [path, record] of records) ids.set(path, record['id'] as string);
  job = records.get('federated_credentials')?.['relationships'].client.data.id;
  const second = await secondEnvironment(api);
  ids.set('environments', second.id);
  await second.api.create('users', { email: 'one@example.com' });
  await second.api.create('roles', { name: 'One' });
  await second.api.create('webhooks', { name: 'One', url: 'http://127.0.0.1:49151/', events: ['role.created'] });
  const held = await api.create('roles', { name: 'Held' }, { permissions: links('permission', idOf('permissions')) });
  ids.set('roles', held['id'] as string);
  await api.post(`/users/${idOf('users')}/relationships/roles`, links('role', idOf('roles')));
  await api.post(`/clients/${idOf('clients')}/relationships/connections`, links('connection', idOf('connections')));
  browser = await signedInWith(service, ...managementPermissions);
});

const page = async (path: string, verb = 'delete', of = idOf(path)) => {
  const answer = await browser.get(`/dashboard/${path}/${encodeURIComponent(of)}/${verb}`);
  return { status: answer.status, html: (await answer.text()).replaceAll('&#39;', "'") };
};
/** What a confirmation page lists, by the title of the list. */
const told = (html: string) =>
  Object.fromEntries(
    [...html.matchAll(/<div class="consequences">\s*<p>([^<]+)<\/p>\s*(?:<ul>([\s\S]*?)<\/ul>)?/g)].map(([, title = '', list = '']) => [
      title,
      [...list.matchAll(/<li>([^<]+)<\/li>/g)].map(([, item]) => item),
    ]),
  );

const removable = presentations.filter(({ path, remove }) => remove && resources.some((one) => one.path === path && one.remove));

test('every confirmation of a deletion says what it means, and whatever takes others along names them with numbers', async () => {
  expect(removable.length).toBeGreaterThan(15);
  for (const { path, remove } of removable) {
    const { status, html } = await page(path);
    expect([path, status, html.includes(remove?.text ?? '')], 'Make a record in test/support/one-of-each.ts, or in this file.').toEqual([
      path,
      200,
      true,
    ]);
    expect([path, Object.keys(told(html)).length > 0]).toEqual([path, 'delete' in (consequences[path as DependedOn] ?? {})]);
  }
});

/** What goes with its owner and isn't told, for it is nothing without it: its own parts, what lasts minutes, and what only counts. */
const parts = /^(?:authorization_codes|client_assertions|client_connections|device_codes|passcodes|pushed_requests|recovery_codes|second_step_tries|session_clients|sign_ins|user_search_texts|workload_refusals|role_permissions|session_organizations|provider_sessions|signal_exclusions|saml_assertions|saml_metadata|directory_requests|directory_users|organization_(?:membership|default|group|invitation)_roles|organization_group_members|organization_groups|removed_members)$/; // prettier-ignore
const inEnvironment = /^(?:users|clients|connections|api_resources|roles|webhooks|log_streams|custom_domains)$/;
const called: Readonly<Record<string, string>> = {
  user_roles: 'roles',
  organization_domains: 'domains',
  organization_invitations: 'invitations',
  organization_memberships: 'memberships',
};

test('whatever the database deletes along with a record is told, or is nothing without it', async () => {
  const sources = new Map(removable.map(({ path }) => [resources.find((one) => one.path === path)?.source.table as string, path]));
  const { rows } = await ctx.scope.knex.raw<{ rows: { owner: string; dependent: string }[] }>(
    `select distinct confrelid::regclass::text as owner, conrelid::regclass::text as dependent from pg_constraint
     where contype = 'f' and confdeltype = 'c' and confrelid::regclass::text = any (?)`,
    [[...sources.keys()]],
  );
  expect(rows.length).toBeGreaterThan(20);
  const untold = rows.filter(({ owner, dependent }) => {
    const path = sources.get(owner) as DependedOn;
    if (path === 'environments' ? !inEnvironment.test(dependent) : parts.test(dependent)) return false;
    const names = Object.keys((consequences[path] as { delete?: object } | undefined)?.delete ?? {});
    const own = called[dependent] ?? dependent;
    return !names.includes(own) && !(owner === 'roles' && dependent === 'user_roles' && names.includes('users'));
  });
  expect(untold, 'Count it in src/db/tables/dependents.ts and name its fate in src/dashboard/parts/records/consequences.ts.').toEqual([]);
});

test('the numbers are those of the record, of each kind', async () => {
  const user = await addUser(ctx, { email: 'many@example.com' });
  const client = await addClient(ctx, { name: 'Signed in to' });
  const signedIn = new Browser(service.url);
  await signedIn.login(user.email, password);
  await redeem(service.url, client, await authorizeCode(signedIn, client));
  const expected: [string, string, Record<string, string[]>, string?][] = [
    ['users', 'delete', { 'Deleted with it': ['1 live session', '1 connected account', '1 sign-in method', '1 approval', '1 authorization', '1 consent', '1 provider token', '1 role assignment', '1 membership'] }],
    ['users', 'delete', { 'Deleted with it': ['1 live session', '1 refresh token', '1 authorization'] }, user.id],
    ['users', 'block', { 'Ends at once': ['1 live session', '1 refresh token'] }, user.id],
    ['users', 'end_sessions', { 'Ends at once': ['1 live session'] }, user.id],
    ['clients', 'delete', { 'Deleted with it': ['1 client grant', '1 approval', '1 authorization', '1 consent', '1 outbound grant', '1 provider grant', '1 provider token', '1 signal stream'] }],
    ['clients', 'delete', { 'Deleted with it': ['1 authorization'], 'Ends at once': ['1 refresh token'] }, client.id],
    ['clients', 'delete', { 'Deleted with it': ['1 federated credential'] }, job],
    ['roles', 'delete', { 'Prevents the deletion': ['1 user who holds it'], 'Deleted with it': ['1 permission assignment'] }],
    ['api_resources', 'delete', { 'Deleted with it': ['1 permission', '1 type of authorization details', '1 client grant'], 'Stays, but is affected': ['1 role with its permissions'] }],
    ['permissions', 'delete', { 'Stays, but is affected': ['1 role with it', '1 client grant with it'] }],
    ['connections', 'delete', { 'Deleted with it': ['1 connected account', '1 provider grant', '1 provider token'], 'Stays, but is affected': ['1 client that names it'] }],
    ['trusted_issuers', 'delete', { 'Deleted with it': ['1 federated credential'] }],
    ['provider_grants', 'delete', { 'Deleted with it': ['1 provider token'] }],
    ['identities', 'delete', { 'Deleted with it': ['1 provider token'] }],
    ['external_servers', 'delete', { 'Deleted with it': ['1 outbound grant'] }],
  ]; // prettier-ignore
  for (const [path, verb, lists, of] of expected)
    expect([path, verb, told((await page(path, verb, of)).html)]).toEqual([path, verb, lists]);
  const { id } = (await api.get(`/sessions?filter[user]=${user.id}`)).body['data'][0] as { id: string };
  expect(told((await page('sessions', 'revoke', id)).html)).toEqual({ 'Ends at once': ['sign-in at 1 client'] });
  expect(told((await page('environments')).html)).toEqual({ 'Deleted with it': ['1 user', '1 role', '1 webhook'] });
  const consent = idOf('consents');
  expect(told((await page('consents', 'delete', consent)).html)).toEqual({ 'Nothing else depends on it at the moment.': [] });
});

test('a long tail is told as "at least", and what would take too long to find as not counted', async () => {
  const webhook = idOf('webhooks');
  await ctx.scope.knex.raw(
    `insert into webhook_deliveries (environment_id, id, webhook_id, event_id, event_type, payload, status, completed_at, created_at, updated_at)
     select ?, uuid_v7(now()), ?, uuid_v7(now()), 'role.created', '{}', 'succeeded', now(), now(), now() from generate_series(1, ?)`,
    [ctx.environment.id, webhook, maxDependentsCounted + 1],
  );
  expect(told((await page('webhooks')).html)['Deleted with it']?.at(-1)).toBe('at least 1,000 deliveries that are over');
  const client = await addClient(ctx, { name: 'Among many' });
  const tokens = `insert into refresh_tokens
       (environment_id, digest, grant_id, client_id, user_id, session_id, scope, auth_time, issued_at, expires_at, grant_expires_at)
     select ?, int8send(n), uuid_v7(now()), 'another', ?, uuid_v7(now()), '', now(), now(), now() + interval '1 day', now() + interval '1 day'
     from generate_series(?::int, ?::int) n`;
  for (let from = 0; from <= 100_000; from += 5_000)
    await ctx.scope.knex.raw(tokens, [ctx.environment.id, idOf('users'), from, from + 4_999]);
  expect(told((await page('clients', 'delete', client.id)).html)).toEqual({
    'Ends at once': ['refresh tokens, too many of all clients to count these'],
  });
});

test('another environment counts nothing of these records', async () => {
  const elsewhere = await addEnvironment(service.deps, 'elsewhere');
  for (const path of Object.keys(consequences) as DependedOn[]) {
    const counted: Readonly<Record<string, Counted>> = await countDependents(
      elsewhere.scope,
      path,
      path === 'environments' ? ctx.environment.id : idOf(path),
      sessionBounds(ctx),
    );
    expect([path, Object.values(counted).filter(({ count, more }) => count > 0 || more)]).toEqual([path, []]);
  }
});
