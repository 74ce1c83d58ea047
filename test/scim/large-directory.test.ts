// Filters of a directory with 100,000 people, as their plans are.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fragmentOf } from '../../src/db/lists/directory-filter.js';
import { compileFilter } from '../../src/scim/filter.js';
import { groupType, userType, type ResourceType } from '../../src/scim/schemas.js';
import { createTestDatabase } from '../support/database.js';
import { withoutRowSecurity } from '../support/row-security.js';
import { observeStatements } from '../support/statements.js';
import { addDirectory } from '../support/directories.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { startTestService } from '../support/service.js';

const service = sharedService(async () => {
  const { url } = await createTestDatabase({ isNew: true });
  return startTestService({}, { database: { url, secretKey: randomBytes(32).toString('base64') }, upkeep: false });
});
const ctx = contextOf(service);
const large = shared(() => addDirectory(ctx, 'large.example'));

const people = 100_000;

/** What sets the stage. */
let client: Client;

beforeAll(async () => {
  client = new Client({ connectionString: service.databaseUrl });
  await client.connect();
  await withoutRowSecurity(ctx.db.knex);
  // Neither triggers nor foreign keys are what is measured.
  await client.query('set session_replication_role = replica');
  const insert = (text: string) => client.query(text);
  const environment = `'${ctx.environment.id}'::uuid`;
  const directory = `'${large.directory.id}'::uuid`;
  const uuid = (kind: string) => `('00000000-0000-7000-${kind}-' || lpad(to_hex(n), 12, '0'))::uuid`;
  await insert(
    `insert into users (environment_id, id, email, email_key, created_at, updated_at)
     select ${environment}, ${uuid('8001')}, 'p' || n || '@large.example', 'p' || n || '@large.example', now(), now() from generate_series(1, ${people}) n`,
  );
  await insert(
    `insert into directory_users (environment_id, id, directory_id, user_id, user_name, user_name_key, external_id, resource, folded, created_at, updated_at)
     select ${environment}, ${uuid('8002')}, ${directory}, ${uuid('8001')}, 'p' || n || '@large.example', 'p' || n || '@large.example', 'x' || n,
       r.resource, r.resource, now() + make_interval(secs => n / 1000.0), now()
     from generate_series(1, ${people}) n, jsonb_build_object('displayName', 'person ' || n,
       'emails', jsonb_build_array(jsonb_build_object('type', 'work', 'value', 'p' || n || '@large.example', 'primary', true))) r(resource)`,
  );
  await insert(
    `insert into organization_groups (environment_id, id, organization_id, directory_id, display_name, display_name_key, external_id, created_at, updated_at)
     select ${environment}, ${uuid('8003')}, '${large.organization.id}'::uuid, ${directory}, 'Group ' || n, 'group ' || n, 'g' || n, now(), now()
     from generate_series(1, 1000) n`,
  );
  await insert(
    `insert into organization_group_members (environment_id, group_id, directory_user_id)
     select ${environment}, ('00000000-0000-7000-8003-' || lpad(to_hex(1 + n % 1000), 12, '0'))::uuid, ${uuid('8002')} from generate_series(1, ${people}) n`,
  );
  for (const name of ['users', 'directory_users', 'organization_groups', 'organization_group_members'])
    await insert(`vacuum analyze ${name}`);
}, 240_000);

afterAll(() => client.end());

async function plan(type: ResourceType, filter: string): Promise<string> {
  const { sql, values } = fragmentOf(compileFilter(type, filter));
  const name = type === userType ? 'directory_users' : 'organization_groups';
  let count = 2;
  const text = `explain select d.id from ${name} d where d.environment_id = $1 and d.directory_id = $2 and ${sql.replaceAll('?', () => `$${++count}`)}`;
  const { rows } = await client.query<object>(text, [ctx.environment.id, large.directory.id, ...values]);
  return rows.map((row) => Object.values(row).join()).join('\n');
}

describe('of 100,000 people', () => {
  test.each([
    ['userName eq "p77777@large.example"', 'user_name_key'],
    ['externalId eq "x77777"', 'external_id'],
    ['id eq "00000000-0000-7000-8002-000000012fd1"', 'directory_users_pkey'],
    ['displayName eq "Person 77777"', 'directory_users_folded'],
    ['emails.value eq "P77777@large.example"', 'directory_users_folded'],
    ['emails[type eq "work"].value eq "p77777@large.example"', 'directory_users_folded'],
    ['emails[type eq "work" and value eq "p77777@large.example"]', 'directory_users_folded'],
    ['active eq true and userName eq "p77777@large.example"', 'user_name_key'],
  ])('one is found by an index: %s (attack 46.1352)', async (filter, index) => {
    const found = await plan(userType, filter);
    expect(found).not.toContain('Seq Scan');
    expect(found).toContain(index);
    const answer = await large.send('GET', `/Users?filter=${encodeURIComponent(filter)}`);
    expect(answer.body).toMatchObject({ totalResults: 1, Resources: [{ userName: 'p77777@large.example' }] });
  });

  test.each([
    ['displayName eq "group 77"', 1],
    ['externalId eq "g77"', 1],
    ['members.value eq "00000000-0000-7000-8002-000000012fd1"', 1],
    ['id eq "00000000-0000-7000-8003-00000000004d" and members.value eq "00000000-0000-7000-8002-000000012fd1"', 0],
  ])('groups are found by an index: %s', async (filter, total) => {
    expect(await plan(groupType, filter)).not.toContain('Seq Scan');
    const answer = await large.send('GET', `/Groups?filter=${encodeURIComponent(filter)}&excludedAttributes=members`);
    expect(answer.body.totalResults).toBe(total);
  });

  test('a page of all of them, and how many there are, come from indexes (specification 16.6.6)', async () => {
    // While the server itself still looks at the new rows, vacuum can't call them visible to everybody.
    const allVisible = async () => {
      await client.query('vacuum directory_users');
      const { rows } = await client.query<{ is: boolean }>(
        `select relallvisible > 0 as is from pg_class where relname = 'directory_users'`,
      );
      return rows[0]?.is;
    };
    await expect.poll(allVisible).toBe(true);
    const seen: { sql: string; bindings: unknown[] }[] = [];
    const note = (query: { sql: string; bindings: unknown[] }) => void seen.push(query);
    ctx.db.knex.on('query', note);
    const { body } = await large.send('GET', '/Users?startIndex=90001&count=20');
    ctx.db.knex.removeListener('query', note);
    expect(body).toMatchObject({ totalResults: people, itemsPerPage: 20 });
    const { sql = '', bindings = [] } = seen.find((query) => query.sql.includes('with found')) ?? {};
    const { rows } = await client.query<Record<string, string>>(`explain ${sql}`, bindings);
    const found = rows.map((row) => Object.values(row).join()).join('\n');
    expect(found).not.toContain('Seq Scan');
    for (const index of ['directory_users_directory', 'directory_users_counted']) expect(found).toContain(`Index Only Scan using ${index}`);
  });

  test('a page far behind comes, and one that would show too many members is refused (attack 46.1350)', async () => {
    const last = await large.send('GET', `/Users?startIndex=${people - 1}&count=200&attributes=userName`);
    expect(last.body).toMatchObject({ totalResults: people, itemsPerPage: 2 });
    expect(await large.send('GET', '/Groups?count=200')).toMatchObject({ status: 200 });
    await ctx.db.knex.raw(
      `insert into organization_group_members select environment_id, '00000000-0000-7000-8003-000000000001'::uuid, id from directory_users
       order by id limit 30000 on conflict do nothing`,
    );
    const full = '/Groups/00000000-0000-7000-8003-000000000001';
    expect(await large.send('GET', full)).toMatchObject({ status: 400, body: { scimType: 'tooMany' } });
    expect((await large.send('GET', `${full}?excludedAttributes=members`)).status).toBe(200);
  });
});

describe('statements', () => {
  /** Texts of named statements; those of the query builder are counted by the pool. */
  async function statementsOf(work: () => Promise<unknown>): Promise<number> {
    const texts: string[] = [];
    const queries: string[] = [];
    const end = observeStatements((text) => texts.push(text));
    const listener = ({ sql }: { sql: string }) => void queries.push(sql);
    ctx.db.knex.on('query', listener);
    try {
      await work();
    } finally {
      end();
      ctx.db.knex.removeListener('query', listener);
    }
    return texts.length + queries.length;
  }

  test.each([
    ['finds a user', 'GET', '/Users?filter=userName eq "p7@large.example"', undefined, 4],
    ['reads a user', 'GET', '/Users/00000000-0000-7000-8002-000000000007', undefined, 4],
    ['finds a group without members', 'GET', '/Groups?filter=displayName eq "group 7"&excludedAttributes=members', undefined, 3],
    [
      'gives a group five members',
      'PATCH',
      '/Groups/00000000-0000-7000-8003-000000000009',
      {
        Operations: [2, 3, 4, 5, 6].map((n) => ({
          op: 'Add',
          path: 'members',
          value: [{ value: `00000000-0000-7000-8002-00000000000${n}` }],
        })),
      },
      9,
    ],
  ])('%s: as few as that', async (_what, method, path, body, most) => {
    await large.send(method, path, body);
    // What the service does by itself meanwhile is counted along: not every time.
    const counts: number[] = [];
    const least = async () => {
      counts.push(await statementsOf(() => large.send(method, path, body)));
      return Math.min(...counts);
    };
    await expect.poll(least).toBeLessThanOrEqual(most);
    expect(Math.min(...counts)).toBeGreaterThan(1);
  });
});
