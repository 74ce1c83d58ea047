import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedDatabase } from '../../support/shared-service.js';
import { createKnex } from '../../../src/db/connection/knex.js';
import { startStatistics } from '../../../src/jobs/janitor.js';
import { silentLogger } from '../../../src/platform/log/logger.js';
import { analyzeGrownTables } from '../../../src/db/postgres/statistics.js';
import { createTestDatabase } from '../../support/database.js';

let knex: Knex;

const database = sharedDatabase(() => createTestDatabase({ isNew: true }));
beforeAll(async () => {
  knex = createKnex({ url: database.url, poolMax: 2 });
  // Autovacuum would look at the table at a moment of its own.
  await knex.raw('alter table revocations set (autovacuum_enabled = false)');
});

afterAll(async () => knex?.destroy());

const environment_id = '00000000-0000-7000-8000-000000000001';

/** Adds revocations, and waits until PostgreSQL has counted them. */
async function grow(from: number, to: number): Promise<void> {
  await knex.raw(
    `insert into revocations (environment_id, id, expires_at)
     select ?, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, now() + interval '1 day' from generate_series(?::int, ?::int) n`,
    [environment_id, from, to],
  );
  const counted = async () =>
    Number((await knex.raw<{ rows: { n: string }[] }>(`select pg_stat_get_live_tuples('revocations'::regclass) as n`)).rows[0]?.n);
  await expect.poll(counted, { timeout: 20_000 }).toBeGreaterThanOrEqual(to);
}

test('a table is looked at when it has doubled, and not again before', async () => {
  await analyzeGrownTables(knex);
  await grow(1, 200);
  expect(await analyzeGrownTables(knex)).toContain('revocations');
  await grow(201, 300);
  expect(await analyzeGrownTables(knex)).not.toContain('revocations');
  await grow(301, 600);
  expect(await analyzeGrownTables(knex)).toContain('revocations');
});

test('between two looks a process rests, though it had the lock and nothing to do', async () => {
  const loop = startStatistics({ db: { knex, replica: null, report: null }, logger: silentLogger });
  try {
    await expect.poll(() => loop.state().idleMs ?? 0, { interval: 20 }).toBeGreaterThan(500);
  } finally {
    await loop.stop();
  }
});

test.each(['authorization_codes', 'access_tokens', 'refresh_tokens'])(
  'a look-up by digest in %s can use its primary key only, whatever the statistics say',
  async (table) => {
    const { rows } = await knex.raw<{ rows: { index: string }[] }>(
      `select i.relname as index from pg_index x join pg_class i on i.oid = x.indexrelid
       join pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[0]
       where x.indrelid = ?::regclass and a.attname in ('environment_id', 'digest')`,
      [table],
    );
    expect(rows).toEqual([{ index: `${table}_pkey` }]);
  },
);
