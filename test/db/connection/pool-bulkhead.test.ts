// One locked table and the connections that every other request needs.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sharedDatabase } from '../../support/shared-service.js';
import { Ambiguous, Unavailable } from '../../../src/db/connection/failures.js';
import { startEmbeddedPostgres } from '../../../src/db/postgres/embedded/embedded-postgres.js';
import { createKnex, databaseQueues } from '../../../src/db/connection/knex.js';

let holder: Knex;
const closing: (() => Promise<unknown>)[] = [];

const database = sharedDatabase();
beforeAll(async () => {
  holder = createKnex({ url: database.url, poolMax: 1 });
  await holder.raw('create table locked (id int)');
  await holder.raw('create table free (id int)');
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
afterAll(async () => holder?.destroy());

test.each([true, false])(
  'a flood on a locked table is refused, the rest of the pool serves others (fault F10); named statements: %s',
  async (prepared) => {
    const pool = createKnex({ url: database.url, poolMax: 6, prepared });
    closing.push(() => pool.destroy());
    const lock = await holder.transaction();
    closing.push(async () => lock.isCompleted() || lock.rollback());
    await lock.raw('lock table locked in access exclusive mode');
    const began = performance.now();
    const flood = Promise.allSettled(
      Array.from({ length: 60 }, (_, n) =>
        n % 2 === 0
          ? Promise.resolve(pool('locked').select('*'))
          : pool.transaction(async (trx) => {
              await trx('free').select('*');
              await trx('locked').insert({ id: n });
            }),
      ),
    );
    // They wait for a connection, and get one long before the lock, or the time of those that wait for it, ends.
    const beside = await Promise.all(Array.from({ length: 20 }, () => pool('free').select('*').limit(1)));
    expect(beside).toHaveLength(20);
    expect(performance.now() - began).toBeLessThan(4500);
    await expect.poll(() => databaseQueues(pool).find(({ queue }) => queue === 'pool')?.refused).toBeGreaterThan(40);
    await lock.rollback();
    const outcomes = await flood;
    const failed = outcomes.filter((one) => one.status === 'rejected');
    expect(failed.length).toBeGreaterThan(40);
    expect(outcomes.length - failed.length).toBeGreaterThan(0);
    // Without a line to cancel it through, the connection is given up; what a statement of its own has done by then isn't known.
    const isTold = (reason: unknown) => reason instanceof Unavailable || (!prepared && reason instanceof Ambiguous);
    expect(failed.map(({ reason }) => reason as unknown).filter((reason) => !isTold(reason))).toEqual([]);
    await pool('locked').select('*');
    await pool.destroy();
  },
);

test('a write that waits for the standby is not ended: PostgreSQL would call it done, and a failover would lose it (fault F10)', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'identity-provider-standby-'));
  closing.push(() => rm(dataDir, { recursive: true, force: true }));
  const settings = { fsync: 'off', synchronous_standby_names: 'nobody', synchronous_commit: 'local' };
  const postgres = await startEmbeddedPostgres({ dataDir, logger: pino({ level: 'silent' }), settings });
  closing.push(() => postgres.stop());
  const pool = createKnex({ url: postgres.url, poolMax: 2 });
  closing.push(() => pool.destroy());
  await pool.raw('create table replicated (id int)');
  await pool.raw(`alter role current_user set synchronous_commit to 'on'`);
  await pool.destroy();

  const replicating = createKnex({ url: postgres.url, poolMax: 2 });
  closing.push(() => replicating.destroy());
  const writes = await Promise.allSettled([1, 2].map(async (id) => replicating('replicated').insert({ id })));
  expect(writes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test('whoever would be the twenty-first to wait for a connection is refused at once', async () => {
  const pool = createKnex({ url: database.url, poolMax: 1 });
  closing.push(() => pool.destroy());
  const busy = await pool.transaction();
  const waiting = Array.from({ length: 20 }, () => Promise.resolve(pool.raw('select 1')));
  await expect.poll(() => databaseQueues(pool)[0]).toMatchObject({ queue: 'pool', length: 20, refused: 0 });
  await expect(Promise.resolve(pool.raw('select 1'))).rejects.toBeInstanceOf(Unavailable);
  expect(databaseQueues(pool)[0]).toMatchObject({ length: 20, refused: 1 });
  await busy.rollback();
  await Promise.all(waiting);
  expect(databaseQueues(pool)[0]).toMatchObject({ length: 0, wait: 0 });
});
