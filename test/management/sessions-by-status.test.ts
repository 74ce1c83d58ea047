// Lists of sessions by status are what the status of each session says, in every order.
import { beforeAll, expect, test } from 'vitest';
import { sessionBounds, sessionStatus } from '../../src/domain/sessions/sessions.js';
import type { SessionRow } from '../../src/db/tables/sessions.js';
import { addUser } from '../support/data.js';
import { idsOf, pagesFrom } from '../support/list-pages.js';
import { manage } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const day = 86_400;

const service = sharedManagedService();
const api = shared(() => manage(service.url));

beforeAll(async () => {
  const ctx = await service.context();
  const user = await addUser(ctx);
  const attributes = { session_lifetime: 30 * day, session_idle_lifetime: 14 * day };
  const { id } = ctx.environment;
  expect((await api.update('environments', id, attributes)).status).toBe(200);
  // Over 40 days; a third were renewed by another sign-in, a tenth ended, and some were made while sessions lasted for a day.
  await ctx.db.knex.raw(
    `insert into sessions (environment_id, id, token_digest, user_id, ip_address, authenticated_at, signed_in_at, last_activity_at, expires_at, revoked_at, created_at, updated_at)
     select ?, uuid_v7(began), decode(md5(n::text), 'hex'), ?, '10.0.0.1', signed_in, signed_in, used,
       signed_in + case when n % 8 = 0 then interval '1 day' else interval '30 days' end, case when n % 10 = 0 then used end, began, used
     from (select n, began, signed_in, least(now(), signed_in + (n * 37 % 20) * interval '1 day') as used from (select n, began, case when n % 3 = 0 then least(now(), began + (n * 53 % 30) * interval '1 day') else began end as signed_in
           from (select n, now() - n * interval '4 hours' as began from generate_series(1, 240) n) numbers) renewed) sessions`,
    [ctx.environment.id, user.id],
  );
}, 60_000);

/** Every page of the list, forwards. */
const pagesOf = (query: string) => pagesFrom(api, `/sessions?${query}&page[size]=7`, 'next');

/** What the list has to be: each session by its own status, sorted. */
async function expected(statuses: readonly string[], sort: string): Promise<string[]> {
  const ctx = await service.context();
  const column = sort.replace('-', '') as 'created_at';
  const sign = sort.startsWith('-') ? -1 : 1;
  const rows = (await ctx.db.knex('sessions').where({ ip_address: '10.0.0.1' })) as SessionRow[];
  return rows
    .filter((row) => statuses.includes(sessionStatus(ctx, row)))
    .sort((one, other) => sign * (one[column].getTime() - other[column].getTime() || (one.id < other.id ? -1 : 1)))
    .map(({ id }) => id);
}

const sorts = ['-created_at', 'last_activity_at'];
const wanted = ['active', 'expired', 'revoked', 'active,expired', 'expired,revoked', 'active,expired,revoked'];

test.each(wanted.flatMap((status) => sorts.map((sort) => [status, sort] as const)))(
  '%s sessions by %s, all pages',
  async (status, sort) => {
    const list = (await pagesOf(`filter[status]=${status}&filter[ip_address]=10.0.0.1&sort=${sort}`)).flatMap(({ data }) => data);
    const ids = list.map(({ id }) => id);
    expect(ids).toEqual(await expected(status.split(','), sort));
    expect(ids.length).toBeGreaterThan(10);
    for (const { attributes } of list) expect(status.split(',')).toContain(attributes['status']);
  },
);

test.each(['active', 'expired'])('backwards the pages of %s sessions are the same', async (status) => {
  const forwards = await pagesOf(`filter[status]=${status}&filter[ip_address]=10.0.0.1&sort=-created_at`);
  expect(forwards.length).toBeGreaterThan(2);
  const backwards = await pagesFrom(api, forwards.at(-1)?.path ?? '', 'prev');
  expect(idsOf(backwards.toReversed())).toEqual(idsOf(forwards));
});

test('sessions that a shorter lifetime ended are found while they are younger than what has run out by itself', async () => {
  const { signed_in_after, active_after } = sessionBounds(await service.context());
  const after = Math.max(signed_in_after.getTime(), active_after.getTime());
  const list = (await pagesOf('filter[status]=expired&filter[ip_address]=10.0.0.1&sort=-created_at')).flatMap(({ data }) => data);
  expect(list.filter(({ attributes }) => Date.parse(attributes['created_at'] as string) > after).length).toBeGreaterThan(3);
});
