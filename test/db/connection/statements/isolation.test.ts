// Slow and locked statements beside healthy ones, on the connections that all requests share.
import type { Knex } from 'knex';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sharedDatabase } from '../../../support/shared-service.js';
import { Ambiguous, Unavailable } from '../../../../src/db/connection/failures.js';
import { createKnex, statementBatchersOf, type StatementBatchers } from '../../../../src/db/connection/knex.js';
import type { NamedQuery } from '../../../../src/db/connection/statements/named.js';
import { createStatementBatcher } from '../../../../src/db/connection/statements/statement-batcher.js';
import { deadlineIn, noDeadline } from '../../../../src/lib/deadline.js';
import { startDatabaseProxy } from '../../../support/database-proxy.js';

const environment_id = '00000000-0000-7000-8000-000000000001';

let knex: Knex;
let lines: StatementBatchers;
let holder: Knex.Transaction;

const database = sharedDatabase();
beforeAll(async () => {
  knex = createKnex({ url: database.url, poolMax: 4 });
  await knex.raw('create table locked (id text primary key, value int not null default 0)');
  await knex.raw('create table free (id text primary key, value int not null default 0)');
  await knex.raw(`insert into locked (id) select 'row-' || n from generate_series(1, 50) as n`);
  await knex.raw(`insert into free (id) values ('row-1')`);
});
beforeEach(async () => {
  const own = createKnex({ url: database.url, poolMax: 4 });
  lines = statementBatchersOf(own) as StatementBatchers;
  closing.push(() => own.destroy());
  holder = await knex.transaction();
});
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  if (!holder.isCompleted()) await holder.rollback();
  for (const close of closing.splice(0)) await close();
});
afterAll(async () => knex?.destroy());

const read = (table: string, id = 'row-1'): NamedQuery => ({
  name: `test.read_${table}`,
  text: `select value from ${table} where $1::uuid is not null and id = $2`,
  values: [environment_id, id],
});
const count = (table: string, id = 'row-1'): NamedQuery => ({
  name: `test.count_${table}`,
  text: `update ${table} set value = value + 1 where $1::uuid is not null and id = $2 returning value`,
  values: [environment_id, id],
});
const lookUp = (query: NamedQuery, deadline = noDeadline) => lines.look_up.query<{ value: number }>(query, { key: null, deadline });
const write = (query: NamedQuery, deadline = noDeadline) =>
  lines.write.query<{ value: number }>(query, { key: query.values[1] as string, deadline });

const lockTable = () => holder.raw('lock table locked in access exclusive mode');
const lockRow = (id: string) => holder.raw('select 1 from locked where id = ? for update', [id]);

/** Whether the promise is still open after everything that is ready has run. */
async function isOpen(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol('open');
  const settled = promise.then(
    () => null,
    () => null,
  );
  return (await Promise.race([settled, new Promise((resolve) => setImmediate(resolve, open))])) === open;
}

describe('one table is locked', () => {
  test('look-ups of other tables are answered, and those of the table when it is free again (fault F10)', async () => {
    await lockTable();
    const stuck = [lookUp(read('locked')), lookUp(read('locked', 'row-2'))];
    const beside = [lookUp(read('free')), lookUp(read('free'))];
    for (const one of beside) expect(await one).toHaveLength(1);
    await expect.poll(() => lines.look_up.state().isolated).toEqual(['test.read_locked']);

    for (let round = 0; round < 20; round++) {
      stuck.push(lookUp(read('locked')));
      expect(await lookUp(read('free'))).toHaveLength(1);
    }
    for (const one of stuck) expect(await isOpen(one)).toBe(true);
    expect(lines.look_up.state().length).toBeGreaterThan(10);
    expect(lines.look_up.state().oldestWait).toBeGreaterThan(0);

    await holder.rollback();
    for (const one of stuck) expect(await one).toHaveLength(1);
    await expect.poll(async () => (await lookUp(read('locked'))) && lines.look_up.state().isolated).toEqual([]);
  });

  test('look-ups of many names are all answered, though they came with one that waits (fault F10)', async () => {
    await lockTable();
    const stuck = lookUp(read('locked'));
    const beside = Array.from({ length: 40 }, (_, n) => lookUp({ ...read('free'), name: `test.read_free_${n}` }));
    for (const one of beside) expect(await one).toHaveLength(1);
    expect(await isOpen(stuck)).toBe(true);
    expect(lines.look_up.state().refused).toBe(0);
    await holder.rollback();
    expect(await stuck).toHaveLength(1);
  });

  test('writes of other tables are committed once each, and those of the table once when it is free again (fault F10)', async () => {
    await knex.raw('update free set value = 0');
    await knex.raw('update locked set value = 0');
    await lockTable();
    const stuck = [write(count('locked', 'row-1')), write(count('locked', 'row-2'))];
    const beside = Array.from({ length: 5 }, () => write(count('free')));
    expect((await Promise.all(beside)).map(([row]) => row?.value)).toEqual([1, 2, 3, 4, 5]);
    expect(lines.write.state().isolated).toContain('test.count_locked');
    expect((await write(count('free')))[0]?.value).toBe(6);

    await holder.rollback();
    expect((await Promise.all(stuck)).map(([row]) => row?.value)).toEqual([1, 1]);
    const { rows } = await knex.raw<{ rows: { sum: number }[] }>('select sum(value)::int from locked');
    expect(rows).toEqual([{ sum: 2 }]);
  });

  test('of those that wait for it only some may; further ones are refused at once, and counted', async () => {
    await lockTable();
    const first = lookUp(read('locked'));
    const stuck = [first, lookUp(read('locked', 'row-2'))];
    await expect.poll(() => lines.look_up.state().isolated).toEqual(['test.read_locked']);
    const flood = Array.from({ length: 500 }, () => lookUp(read('locked')));
    const outcomes = flood.map((one) => one.then(() => 'answered', (error: unknown) => error)); // prettier-ignore
    await expect.poll(() => lines.look_up.state().refused).toBeGreaterThan(250);
    expect(await lookUp(read('free'))).toHaveLength(1);
    await holder.rollback();
    const settled = await Promise.all(outcomes);
    const refused = settled.filter((one) => one !== 'answered');
    expect(refused.length).toBeGreaterThan(250);
    expect(refused.length).toBeLessThan(500);
    expect(refused.every((one) => one instanceof Unavailable)).toBe(true);
    await Promise.all(stuck);
  });

  test('nobody waits there for longer than the time that is left', async () => {
    await lockTable();
    await expect(lookUp(read('locked'), deadlineIn(400))).rejects.toBeInstanceOf(Unavailable);
    const waiting = lookUp(read('locked'));
    await expect(lookUp(read('locked'), deadlineIn(50))).rejects.toBeInstanceOf(Unavailable);
    await expect(write(count('locked'), deadlineIn(500))).rejects.toBeInstanceOf(Unavailable);
    await holder.rollback();
    await waiting;
    expect((await lookUp(read('locked')))[0]).toBeDefined();
  });
});

test('while one row is locked, others of its table are written by the same statement (fault F10)', async () => {
  await knex.raw('update locked set value = 0');
  await lockRow('row-1');
  const stuck = write(count('locked', 'row-1'));
  const beside = [2, 3, 4].map((n) => write(count('locked', `row-${n}`)));
  for (const one of beside) expect((await one)[0]?.value).toBe(1);
  for (let n = 5; n < 40; n++) expect((await write(count('locked', `row-${n}`)))[0]?.value).toBe(1);
  expect(await isOpen(stuck)).toBe(true);
  await holder.rollback();
  expect((await stuck)[0]?.value).toBe(1);
});

test('a statement that the server refuses at once is quick: its name is no longer isolated', async () => {
  const divide = (id: string, by: number): NamedQuery => ({
    name: 'test.divide_locked',
    text: 'update locked set value = 10 / $3::int where $1::uuid is not null and id = $2 returning value',
    values: [environment_id, id, by],
  });
  await lockRow('row-1');
  const stuck = write(divide('row-1', 2));
  await expect.poll(() => lines.write.state().isolated).toEqual(['test.divide_locked']);
  const refused = () => write(divide('row-2', 0)).catch(({ code }: { code: string }) => code);
  await expect.poll(async () => [await refused(), lines.write.state().isolated]).toEqual(['22012', []]);
  await holder.rollback();
  expect(await stuck).toEqual([{ value: 5 }]);
});

test('a statement that was slow twice in a row is isolated for another second, though it is quick', async () => {
  await lockRow('row-1');
  // On a busy machine their time may be up before they are awaited.
  const stuckWrite = () => {
    const outcome = write(count('locked', 'row-1'));
    outcome.catch(() => undefined);
    return outcome;
  };
  const stuck = [stuckWrite()];
  await expect.poll(() => lines.write.state().isolated).toEqual(['test.count_locked']);
  const isolated = async () => (await write(count('locked', 'row-2'))) && lines.write.state().isolated;
  const quickAgain = async () => {
    await expect.poll(isolated).toEqual([]);
  };
  await quickAgain();
  const began = performance.now();
  stuck.push(stuckWrite());
  await expect.poll(() => lines.write.state().isolated).toEqual(['test.count_locked']);
  await quickAgain();
  expect(performance.now() - began).toBeGreaterThan(1000);
  await holder.rollback();
  await Promise.allSettled(stuck);
});

test('nothing is begun for whom the time is up, or who has gone', async () => {
  await knex.raw('update free set value = 0');
  const gone = deadlineIn(60_000);
  gone.cancel();
  await expect(write(count('free'), gone)).rejects.toBeInstanceOf(Unavailable);
  const going = deadlineIn(60_000);
  const outcome = write(count('free'), going);
  going.cancel();
  await expect(outcome).rejects.toBeInstanceOf(Unavailable);
  expect((await write(count('free')))[0]?.value).toBe(1);
});

test('a connection is cut without a word: a write has happened or not, an isolated one has not, and a look-up is unavailable', async () => {
  await knex.raw('update locked set value = 0');
  const proxied = await startDatabaseProxy(database.url);
  const own = createKnex({ url: proxied.url, poolMax: 4 });
  const open = () => new pg.Client({ connectionString: proxied.url });
  const shared = createStatementBatcher({ open, pool: () => own, connections: 1, locking: true, slowMs: 60_000 });
  closing.push(
    () => shared.close(),
    () => own.destroy(),
    async () => proxied.close(),
  );
  lines = statementBatchersOf(own) as StatementBatchers;
  const waits = async (text: string) => {
    const asked = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like ?`;
    return (await knex.raw<{ rows: unknown[] }>(asked, [`%${text}%`])).rows.length;
  };
  await lockTable();
  const outcomes = Promise.allSettled([
    shared.query(count('locked', 'row-1'), { key: 'row-1', deadline: noDeadline }),
    write(count('locked', 'row-2')),
    lookUp(read('locked')),
  ]);
  await expect.poll(() => [lines.look_up, lines.write].flatMap((one) => one.state().isolated)).toHaveLength(2);
  await expect.poll(() => waits('update locked')).toBe(2);
  await expect.poll(() => waits('select value from locked')).toBe(1);
  proxied.refuse();
  const reasons = (await outcomes).map((one) => (one.status === 'rejected' ? (one.reason as unknown) : null));
  expect(reasons).toEqual([expect.any(Ambiguous), expect.any(Unavailable), expect.any(Unavailable)]);
  await expect(write(count('free'))).rejects.toBeInstanceOf(Unavailable);
  await holder.rollback();
  const running = `select 1 from pg_stat_activity where state = 'active' and query like ?`;
  await expect.poll(async () => (await knex.raw<{ rows: unknown[] }>(running, ['%update locked%'])).rows).toEqual([]);
  const { rows } = await knex.raw<{ rows: unknown[] }>(`select value from locked where id = 'row-2'`);
  expect(rows).toEqual([{ value: 0 }]);
});

test('an isolated write that is given up does not happen when its row is free', async () => {
  await knex.raw('update locked set value = 0');
  await lockRow('row-1');
  await expect(write(count('locked'), deadlineIn(500))).rejects.toBeInstanceOf(Unavailable);
  await holder.rollback();
  expect((await write(count('locked')))[0]?.value).toBe(1);
});
