// Lists of users are what the users themselves say, in every order, with every kind of filter, forwards and back.
import { beforeAll, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { idsOf, pagesFrom } from '../support/list-pages.js';
import { manage } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

beforeAll(async () => {
  const ctx = await service.context();
  await ctx.db.knex.raw(
    `insert into users (environment_id, id, email, email_key, last_name, email_verified, status, last_login_at, created_at, updated_at)
     select ?, uuid_v7(at), 'p' || n || '@example.com', 'p' || n || '@example.com', case when n % 4 > 0 then 'Last' || n * 7 % 10 end, n % 3 > 0,
       case when n % 5 = 0 then 'blocked' else 'active' end, case when n % 2 = 0 then at - n * interval '1 hour' end, at, at + n * 31 % 50 * interval '1 day'
     from (select n, now() - n * interval '1 day' as at from generate_series(1, 150) n) numbers`,
    [ctx.environment.id],
  );
}, 60_000);

const keys: Readonly<Record<string, (row: UserRow) => string | number>> = {
  created_at: (row) => row.created_at.getTime(),
  updated_at: (row) => row.updated_at.getTime(),
  email: (row) => row.email_key,
  last_name: (row) => row.last_name?.toLowerCase() ?? '',
  last_login_at: (row) => row.last_login_at?.getTime() ?? Number.NEGATIVE_INFINITY,
};
const compared = (one: string | number, other: string | number) => (one === other ? 0 : one < other ? -1 : 1);

const before = new Date(Date.now() - 50 * 86_400_000);
const holds = (row: UserRow, text: string) => `${row.email_key} ${row.last_name ?? ''}`.toLowerCase().includes(text);

const filters: Readonly<Record<string, (row: UserRow) => boolean>> = {
  'filter[status]=blocked': (row) => row.status === 'blocked',
  'filter[status]=blocked&filter[email_verified]=false': (row) => row.status === 'blocked' && !row.email_verified,
  'filter[search]=P1': (row) => row.email_key.startsWith('p1'),
  'filter[search]=AST7+.com': (row) => holds(row, 'ast7'),
  'filter[search]=example.com': () => true,
  [`filter[created_at][gte]=${before.toISOString()}`]: (row) => row.created_at >= before,
  [`filter[last_login_at][lt]=${before.toISOString()}`]: (row) => row.last_login_at !== null && row.last_login_at < before,
};

/** What the list has to be: every user who fits, sorted. */
async function expected(filter: string, sort: string): Promise<string[]> {
  const ctx = await service.context();
  const sign = sort.startsWith('-') ? -1 : 1;
  const key = keys[sort.replace('-', '')] as (row: UserRow) => string | number;
  const rows = ((await ctx.db.knex('users')) as UserRow[]).filter(filters[filter] as (row: UserRow) => boolean);
  return rows.sort((one, other) => sign * (compared(key(one), key(other)) || compared(one.id, other.id))).map(({ id }) => id);
}

const orders = Object.keys(keys).flatMap((key) => [key, `-${key}`]);

test.each(Object.keys(filters).flatMap((filter) => orders.map((sort) => [filter, sort] as const)))(
  '%s by %s, forwards and back',
  async (filter, sort) => {
    const forwards = await pagesFrom(api, `/users?${filter}&sort=${sort}&page[size]=9`, 'next');
    expect(idsOf(forwards).flat()).toEqual(await expected(filter, sort));
    expect(forwards.length).toBeGreaterThan(1);
    const back = await pagesFrom(api, forwards.at(-1)?.path ?? '', 'prev');
    expect(idsOf(back.toReversed())).toEqual(idsOf(forwards));
  },
);
