// 100,000 users: every order without filters, and every filter and search in the usual order, answers from an index; other orders of more are refused, and not
// offered. Page 1,000 costs what page 1 costs.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sessionBounds } from '../../src/domain/sessions/sessions.js';
import { figureUpTo } from '../../src/dashboard/parts/values.js';
import { countOverview } from '../../src/db/tables/overview.js';
import { encodeCursor } from '../../src/management/cursor.js';
import { signedInWith } from '../support/administrators.js';
import type { Browser } from '../support/browser.js';
import { manage, startManagedService, type Api } from '../support/management.js';
import { withoutRowSecurity } from '../support/row-security.js';
import type { TestService } from '../support/service.js';

const people = 100_000;
let service: TestService;
let api: Api;
let database: pg.Client;
let role: string;

beforeAll(async () => {
  service = await startManagedService();
  api = await manage(service.url);
  const ctx = await service.context();
  database = new pg.Client({ connectionString: service.databaseUrl });
  await database.connect();
  await withoutRowSecurity(ctx.db.knex);
  role = (await api.create('roles', { name: 'Rare' }))['id'] as string;
  await database.query(
    `insert into users (environment_id, id, email, email_key, first_name, last_name, email_verified, status, external_id, last_login_at, created_at, updated_at)
     select $1, uuid_v7(at), 'p' || n || '@example.com', 'p' || n || '@example.com', 'First' || (n % 1000), 'Last' || (n % 5000), n % 500 <> 0,
       case when n % 1000 = 0 then 'blocked' else 'active' end, 'e' || n, case when n % 2 = 0 then at end, at, at
     from (select n, $2::timestamptz - make_interval(secs => n) as at from generate_series(1, $3::integer) n) numbers`,
    [ctx.environment.id, service.clock.now(), people],
  );
  await database.query(`insert into user_roles select environment_id, id, $1 from users where email_key like 'p77%' limit 50`, [role]);
  await database.query(
    `insert into sessions (environment_id, id, token_digest, user_id, ip_address, authenticated_at, signed_in_at, last_activity_at, expires_at, created_at, updated_at)
     select environment_id, uuid_v7(at), decode(md5(id::text), 'hex'), id, '10.0.' || (login_count % 250) || '.1', at, at, at, at + interval '30 days', at, at
     from (select *, created_at - case when email_key ~ '^p[4-7]' then interval '35 days' else interval '0' end as at from users) began`,
  );
  // Half have a passkey, few an app, and fewer one that waits for its first code.
  await database.query('alter table authenticators disable trigger authenticators_kinds');
  await database.query(
    `insert into authenticators (environment_id, id, user_id, kind, name, status, expires_at, credential_id, public_key, rp_id, sign_count, transports,
       backup_eligible, backed_up, discoverable, secret_sealed, algorithm, digits, period, last_used_at, created_at, updated_at)
     select environment_id, uuid_v7(created_at), id, kind, kind, case when waits then 'pending' else 'active' end, case when waits then created_at end,
       case when kind = 'passkey' then id::text end, 'key', 'localhost', 0, '{}', true, true, true, 'x', 'SHA1', 6, 30,
       case when not waits then created_at end, created_at, created_at
     from (select *, row_number() over (order by id) as n from users) numbered,
       lateral (select case when n % 1000 = 1 then 'totp' else 'passkey' end as kind, n % 5000 = 1 as waits) made
     where n % 2 = 0 or n % 1000 = 1`,
  );
  await database.query('alter table authenticators enable trigger authenticators_kinds');
  await database.query(`update users set two_step_enabled = true where email_key like 'p77%'`);
  await database.query(`update users set pending_migration = true where email_key like 'p88%'`);
  // A sample of all rows: the plans are the same in every run.
  await database.query('set default_statistics_target = 400');
  // What autovacuum does: with it, what is all in an index is read from there.
  await database.query('vacuum analyze');
}, 120_000);
afterAll(async () => {
  await database?.end();
  await service?.stop();
});

type Plan = { 'Node Type': string; 'Relation Name'?: string; 'Shared Hit Blocks': number; 'Shared Read Blocks': number; Plans?: Plan[] };

const scans = (plan: Plan): string[] => [
  ...(plan['Node Type'] === 'Seq Scan' && ['users', 'sessions', 'authenticators'].includes(plan['Relation Name'] ?? '')
    ? [plan['Relation Name'] ?? '']
    : []),
  ...(plan.Plans ?? []).flatMap(scans),
];

/** The statements that read a page of the table for a request. */
async function pageStatements(path: string, table: string): Promise<{ sql: string; bindings: unknown[] }[]> {
  const seen: { sql: string; bindings: unknown[] }[] = [];
  const { knex } = service.deps.db;
  const note = (query: { sql: string; bindings: unknown[] }) => void seen.push(query);
  knex.on('query', note);
  const answer = await api.get(path);
  knex.removeListener('query', note);
  expect([path, answer.status]).toEqual([path, 200]);
  return seen.filter(
    ({ sql }) => (sql.includes('cursor_values') && sql.includes(`"${table}"`)) || sql.includes('from "user_search_texts"'),
  );
}

/** These, explained: whole-table scans, and pages of the database touched. */
async function cost(path: string, table: string): Promise<{ scans: string[]; blocks: number }> {
  const plans: Plan[] = [];
  for (const { sql, bindings } of await pageStatements(path, table)) {
    const result = await database.query(`explain (analyze, buffers, format json) ${sql}`, bindings);
    plans.push((result.rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan);
  }
  expect(plans.length).toBeGreaterThan(0);
  const blocks = plans.reduce((sum, plan) => sum + plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], 0);
  return { scans: plans.flatMap(scans), blocks };
}

const blocksAllowed = 1_500;

test.each([
  '/users', '/users?sort=created_at', '/users?sort=-updated_at', '/users?sort=email', '/users?sort=-email', '/users?sort=last_name', '/users?sort=-last_login_at',
  '/users?filter[email]=p500@example.com', '/users?filter[external_id]=e500', '/users?filter[status]=blocked', '/users?filter[email_verified]=false',
  '/users?filter[email_verified]=false&filter[status]=blocked', '/users?sort=last_name', '/users?filter[updated_at][gte]=2020-01-01T00:00:00Z&sort=-updated_at',
  '/users?filter[pending_migration]=true', '/users?filter[pending_migration]=false', '/users?filter[two_step_enabled]=true', '/users?filter[two_step_enabled]=false', '/users?filter[authenticator]=passkey', '/users?filter[authenticator]=totp',
  '/users?filter[authenticator]=recovery_codes',
  '/users?filter[created_at][gte]=2020-01-01T00:00:00Z', '/users?filter[search]=p4242&filter[status]=active',
])('%s answers from an index', async (path) => {
  const { scans: whole, blocks } = await cost(path, 'users');
  expect([path, whole, blocks < blocksAllowed ? 'few' : blocks]).toEqual([path, [], 'few']);
}); // prettier-ignore

// What is looked up first is counted too. Thousands that fit are read by their keys; words that everybody has, and nobody both, are looked for by themselves.
test.each([
  'p4242', 'p4242@example', '4242@', 'last4242', 'st42', 'first42', 'nobody', 'nobody example', 'p42 first42', 'first41 last5', 'e4242',
])('a search for %s answers from an index', async (text) => {
  const { scans: whole, blocks } = await cost(`/users?filter[search]=${encodeURIComponent(text)}`, 'users');
  expect([text, whole, blocks < 15_000 ? 'few' : blocks]).toEqual([text, [], 'few']);
}); // prettier-ignore

// The table itself may be read from its beginning: where all fit, enough of them come first.
test('a search that everybody fits looks at few', async () => {
  const { blocks } = await cost('/users?filter[search]=p', 'users');
  expect(blocks).toBeLessThan(blocksAllowed);
});

test.each([
  ['created_at', 'filter[created_at][lt]', '-created_at'], ['created_at', 'filter[created_at][gte]', 'created_at'],
  ['last_login_at', 'filter[last_login_at][lt]', '-last_login_at'], ['last_login_at', 'filter[last_login_at][gte]', 'last_login_at'],
])('the second half of what a range of %s has begins where it begins (%s by %s)', async (column, filter, sort) => {
  const { rows } = await database.query<{ id: string; middle: string; at: Date }>(
    `select id, ${column}::text as middle, ${column} as at from users where ${column} is not null order by ${column} offset 25000 limit 1`,
  );
  const [{ id, middle, at } = { id: '', middle: '', at: new Date() }] = rows;
  // The range begins (or ends) a third of all before the position.
  const bound = new Date(at.getTime() + (sort.startsWith('-') ? 30_000_000 : -30_000_000)).toISOString();
  const after = encodeCursor(await service.context(), 'users', sort, { values: [middle], id });
  const { scans: whole, blocks } = await cost(`/users?${filter}=${bound}&sort=${sort}&page[after]=${encodeURIComponent(after)}`, 'users');
  expect([whole, blocks < 100 ? 'few' : blocks]).toEqual([[], 'few']);
}); // prettier-ignore

// Half never signed in: they lie before all others in the order, and in no range.
test('people who have not signed in since a time at which nobody had are not looked for among all', async () => {
  const { scans: whole, blocks } = await cost('/users?filter[last_login_at][lt]=2015-01-01T00:00:00Z&sort=last_login_at', 'users');
  expect([whole, blocks < 100 ? 'few' : blocks]).toEqual([[], 'few']);
});

test('the first who signed in before a time are found without those who never did', async () => {
  const at = service.clock.now().toISOString();
  const { scans: whole, blocks } = await cost(`/users?filter[last_login_at][lt]=${at}&sort=last_login_at`, 'users');
  expect([whole, blocks < 100 ? 'few' : blocks]).toEqual([[], 'few']);
});

test('users of a role are found by the link', async () => {
  const { scans: whole, blocks } = await cost(`/users?filter[role]=${role}`, 'users');
  expect([whole, blocks < blocksAllowed ? 'few' : blocks]).toEqual([[], 'few']);
});

// Four of nine have run out, the oldest.
test.each([
  '/sessions', '/sessions?sort=-last_activity_at', '/sessions?filter[ip_address]=10.0.0.1',
  '/sessions?filter[status]=active', '/sessions?filter[status]=expired', '/sessions?filter[status]=expired&sort=created_at', '/sessions?filter[status]=revoked',
  '/sessions?filter[last_activity_at][gte]=2020-01-01T00:00:00Z&sort=last_activity_at',
])('%s answers from an index', async (path) => {
  const { scans: whole, blocks } = await cost(path, 'sessions');
  expect([path, whole, blocks < blocksAllowed ? 'few' : blocks]).toEqual([path, [], 'few']);
}); // prettier-ignore

test.each([
  '/authenticators', '/authenticators?sort=-updated_at', '/authenticators?sort=last_used_at', '/authenticators?filter[kind]=totp', '/authenticators?filter[kind]=passkey',
  '/authenticators?filter[kind]=recovery_codes', '/authenticators?filter[status]=pending', '/authenticators?filter[status]=active',
  '/authenticators?filter[last_used_at][lt]=2020-01-01T00:00:00Z', '/authenticators?filter[last_used_at][gte]=2020-01-01T00:00:00Z&sort=last_used_at',
])('%s answers from an index', async (path) => {
  const { scans: whole, blocks } = await cost(path, 'authenticators');
  expect([path, whole, blocks < blocksAllowed ? 'few' : blocks]).toEqual([path, [], 'few']);
}); // prettier-ignore

test('authenticators of a user are found by the user', async () => {
  const { rows } = await database.query<{ user_id: string }>('select user_id from authenticators limit 1');
  const { scans: whole, blocks } = await cost(`/authenticators?filter[user]=${rows[0]?.user_id}`, 'authenticators');
  expect([whole, blocks < blocksAllowed ? 'few' : blocks]).toEqual([[], 'few']);
});

test('a hundred thousand are sorted in any order', async () => {
  for (const path of ['/users?filter[status]=blocked&sort=email', '/users?sort=email,last_name']) expect([path, (await api.get(path)).status]).toEqual([path, 200]);
}); // prettier-ignore

test('the overview counts people up to a hundred thousand and who is active up to ten thousand: more are more', async () => {
  const ctx = await service.context();
  const count = () => countOverview(ctx.scope, new Date(0), sessionBounds(ctx));
  expect(await count()).toMatchObject({ users: people, new_users: people, active_users: 10_001, sessions: 10_001 });
  await database.query(
    `insert into users (environment_id, id, email, email_key, created_at, updated_at)
     select $1, gen_random_uuid(), 'more' || n, 'more' || n, now(), now() from generate_series(1, 5) n`,
    [ctx.environment.id],
  );
  expect(await count()).toMatchObject({ users: people + 1, new_users: people + 1 });
  await database.query(`delete from users where email_key like 'more%'`);
  expect([figureUpTo(people, people), figureUpTo(people + 1, people)]).toEqual(['100,000', '100,000+']);
});

test.each(['-created_at', 'email'])('page 1,000 by %s costs what page 1 costs', async (sort) => {
  const ctx = await service.context();
  const [column, direction] = sort === 'email' ? ['email_key', 'asc'] : ['created_at', 'desc'];
  const { rows } = await database.query<{ value: string; id: string }>(
    `select ${column}::text as value, id from users order by ${column} ${direction}, id ${direction} offset 24999 limit 1`,
  );
  const position = { values: [rows[0]?.value as string], id: rows[0]?.id as string };
  const first = await cost(`/users?sort=${sort}`, 'users');
  const late = await cost(`/users?sort=${sort}&page[after]=${encodeCursor(ctx, 'users', sort, position)}`, 'users');
  expect([late.scans, late.blocks <= first.blocks + 50 ? 'alike' : [first.blocks, late.blocks]]).toEqual([[], 'alike']);
});

// Who signs in to the dashboard is one more, and so is the session.
describe('with one user more', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await signedInWith(service, 'users:read', 'sessions:read');
  });

  test.each([
    ['/users?filter[status]=blocked&sort=email', 'users'], ['/users?filter[search]=p&sort=-updated_at', 'users'], ['/users?sort=email,last_name', 'users'],
    ['/users?filter[updated_at][gte]=2020-01-01T00:00:00Z&filter[status]=active&sort=updated_at', 'users'],
    ['/sessions?filter[status]=active&sort=-last_activity_at', 'sessions'],
  ])('%s is refused with what to use instead (attack 15.1116, specification 6.4.3)', async (path, plural) => {
    const { status, body } = await api.get(path);
    expect([status, body['errors']]).toMatchObject([400, [{
      status: '400', code: 'unsupported_sort', title: 'Unsupported sort', source: { parameter: 'sort' },
      links: { type: expect.stringContaining('/unsupported-sort') as unknown },
      detail: expect.stringMatching(new RegExp(`at most 100,000 ${plural}, and the list has more. Sort by created_at, with any filters; or by one of updated_at, .* narrow the list by filter`)) as unknown,
    }]]);
  }); // prettier-ignore

  test('what an index finds few of is sorted in any order', async () => {
    const { rows } = await database.query<{ user_id: string }>('select user_id from sessions limit 1');
    const paths = ['/users?filter[email]=p500@example.com&sort=last_name', '/users?filter[external_id]=e5,e6&sort=-email'];
    for (const path of [...paths, `/sessions?filter[user]=${rows[0]?.user_id}&filter[status]=active&sort=-updated_at`])
      expect([path, (await api.get(path)).status]).toEqual([path, 200]);
  });

  test('the dashboard offers no order that would be refused, and says why one that was asked for is', async () => {
    const headings = async (path: string) => {
      const page = await (await browser.get(path)).text();
      const links = [...page.matchAll(/href="(\/dashboard\/(?:users|sessions)\?[^"]*sort=[^"]*)"/g)].map((match) => (match[1] as string).replaceAll('&amp;', '&'));
      for (const link of links) expect([link, (await browser.get(link)).status]).toEqual([link, 200]);
      return links.map((link) => new URLSearchParams(link.split('?')[1]).get('sort'));
    };
    expect(await headings('/dashboard/users')).toEqual(['email', '-last_login_at', 'created_at']);
    expect(await headings('/dashboard/users?status=blocked')).toEqual(['created_at']);
    expect(await headings('/dashboard/sessions')).toEqual(['-last_activity_at']);
    expect(await headings('/dashboard/sessions?status=active')).toEqual([]);
    // The form for filters doesn't take the order along, which most filters can't have.
    expect(await (await browser.get('/dashboard/users?sort=email')).text()).not.toContain('name="sort"');
    const refused = await browser.get('/dashboard/users?status=blocked&sort=email');
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('This order takes at most 100,000 users')]);
  }); // prettier-ignore
});
