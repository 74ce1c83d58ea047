// What work with a deadline gets from the database, and what it is told of a call that failed.
import type { Knex } from 'knex';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sharedService } from '../../support/shared-service.js';
import { Ambiguous, Conflict, Dangling, Duplicate, Unavailable, Unstorable } from '../../../src/db/connection/failures.js';
import { createKnex, poolState } from '../../../src/db/connection/knex.js';
import { createScope, run, type Scope } from '../../../src/db/scope.js';
import { createContext, transaction, type Context } from '../../../src/domain/context.js';
import { deadlineIn, type Deadline } from '../../../src/lib/deadline.js';
import { startDatabaseProxy, type DatabaseProxy } from '../../support/database-proxy.js';

let proxy: DatabaseProxy;
let knex: Knex;
let base: Context;

const service = sharedService();
beforeAll(async () => {
  proxy = await startDatabaseProxy(service.databaseUrl);
  base = await service.context();
  await base.db.knex.raw('create table things (id integer primary key, name text unique, parent integer references things)');
});
afterAll(async () => proxy.close());
afterEach(async () => {
  proxy.pass();
  proxy.accept();
  await knex.destroy();
  await base.db.knex('things').delete();
});

/** A context on a pool of its own, of one connection behind the proxy unless told otherwise. */
function contextWithin(deadline: Deadline, poolMax = 1): Context {
  knex = createKnex({ url: proxy.url, poolMax });
  return createContext({ ...base, db: { knex, replica: null, report: null } }, base.environment, deadline);
}

/** A deadline that the test brings forward once what it needs is there. */
function movable(): Deadline & { endIn(ms: number): void } {
  let until = Infinity;
  return { left: () => Math.max(0, until - performance.now()), endIn: (ms) => void (until = performance.now() + ms) };
}

const timed = async (work: Promise<unknown>): Promise<{ error: unknown; ms: number }> => {
  const began = performance.now();
  const error = await work.then(
    () => null,
    (caught: unknown) => caught,
  );
  return { error, ms: performance.now() - began };
};
const store = (scope: Scope, id: number) => scope.knex('things').insert({ id, name: `thing ${id}` });
const stored = async () => (await base.db.knex<{ id: number }>('things').orderBy('id')).map(({ id }) => id);
const pidOf = async (pool: Knex) => (await pool.raw<{ rows: { pid: number }[] }>('select pg_backend_pid() as pid')).rows[0]?.pid;

describe('time', () => {
  test('nothing is begun without any: no connection is taken, no statement sent', async () => {
    const deadline = deadlineIn(60_000);
    const ctx = contextWithin(deadline);
    deadline.cancel();
    const attempts = [
      store(ctx.scope, 1),
      transaction(ctx, (tx) => store(tx.scope, 2)),
      run(ctx.scope, { name: 'one', text: 'select $1::uuid' }, []),
    ];
    for (const attempt of attempts) expect((await timed(attempt)).error).toBeInstanceOf(Unavailable);
    expect(await stored()).toEqual([]);
    expect((ctx.db.knex.client as { pool: { numFree(): number } }).pool.numFree()).toBe(0);
  });

  test('waiting for a connection ends with it, and leaves nobody in the queue', async () => {
    const deadline = movable();
    const ctx = contextWithin(deadline);
    const holding = await knex.transaction();
    deadline.endIn(300);
    const { error, ms } = await timed(store(ctx.scope, 1));
    expect(error).toBeInstanceOf(Unavailable);
    expect(ms).toBeLessThan(4_000);
    expect(poolState(knex).waiting).toBe(0);
    await holding.rollback();
    await store(createScope(knex, base.environment.id), 1);
    expect(await stored()).toEqual([1]);
  });

  test('a statement is not waited for longer, and its connection is given up', async () => {
    const deadline = movable();
    const ctx = contextWithin(deadline);
    const before = await pidOf(knex);
    deadline.endIn(1_000);
    const { error, ms } = await timed(Promise.resolve(ctx.scope.knex.raw('select pg_sleep(4)')));
    expect(error).toBeInstanceOf(Ambiguous);
    expect(ms).toBeLessThan(3_500);
    expect(await pidOf(knex)).not.toBe(before);
  });

  test('a transaction whose time is up between two statements is rolled back, and its connection is as good as before', async () => {
    const deadline = deadlineIn(60_000);
    const ctx = contextWithin(deadline);
    const before = await pidOf(knex);
    const work = transaction(ctx, async (tx) => {
      await store(tx.scope, 1);
      deadline.cancel();
      await store(tx.scope, 2);
    });
    await expect(work).rejects.toThrow(Unavailable);
    expect(await stored()).toEqual([]);
    expect(await pidOf(knex)).toBe(before);
  });

  test('one whose time is up before its commit is rolled back', async () => {
    const deadline = deadlineIn(60_000);
    const ctx = contextWithin(deadline);
    const work = transaction(ctx, async (tx) => {
      await store(tx.scope, 1);
      deadline.cancel();
    });
    await expect(work).rejects.toThrow(Unavailable);
    expect(await stored()).toEqual([]);
  });

  test('one whose time is up while a statement runs is undone by the server, and is told at once', async () => {
    const deadline = movable();
    const ctx = contextWithin(deadline);
    let slept = 0;
    const work = transaction(ctx, async (tx) => {
      await store(tx.scope, 1);
      deadline.endIn(500);
      const { error, ms } = await timed(Promise.resolve(tx.scope.knex.raw('select pg_sleep(4)')));
      slept = ms;
      throw error;
    });
    await expect(work).rejects.toThrow(Unavailable);
    expect(slept).toBeLessThan(3_500);
    expect(await stored()).toEqual([]);
    // The same row isn't in anybody's way once the server has noticed.
    await base.db.knex('things').insert({ id: 1, name: 'thing 1' });
    expect(await stored()).toEqual([1]);
  });

  test('a connection that comes back with its transaction open is given up', async () => {
    contextWithin(deadlineIn(60_000));
    const client = knex.client as {
      acquireConnection(): Promise<{ query(text: string): Promise<unknown> }>;
      releaseConnection(one: unknown): Promise<void>;
    };
    const before = await pidOf(knex);
    const connection = await client.acquireConnection();
    await connection.query('begin');
    await connection.query(`insert into things values (1, 'left open')`);
    await client.releaseConnection(connection);
    expect(await pidOf(knex)).not.toBe(before);
    expect(await stored()).toEqual([]);
  });
});

describe('what has happened', () => {
  const any = () => deadlineIn(60_000);

  test.each([
    ['a row that there is already', `insert into things values (1, 'a'), (1, 'b')`, Duplicate, '23505'],
    ['a row that is not there', `insert into things values (1, 'a', 7)`, Dangling, '23503'],
    ['a text that is no number', `select ?::text::integer`, Unstorable, '22P02'],
    ['a deadlock', `do $$ begin raise exception 'no' using errcode = '40P01'; end $$`, Conflict, '40P01'],
    ['a full disk', `do $$ begin raise exception 'no' using errcode = '53100'; end $$`, Unavailable, '53100'],
    ['a right that was withdrawn', `do $$ begin raise exception 'no' using errcode = '42501'; end $$`, Unavailable, '42501'],
    ['a server that has become a standby', `do $$ begin raise exception 'no' using errcode = '25006'; end $$`, Unavailable, '25006'],
  ])('%s', async (_what, text, kind, sqlstate) => {
    const ctx = contextWithin(any());
    const { error } = await timed(Promise.resolve(ctx.scope.knex.raw(text, text.includes('?') ? ['x'] : [])));
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ sqlstate });
  });

  test('a mistake of ours is none of these', async () => {
    const { error } = await timed(Promise.resolve(contextWithin(any()).scope.knex.raw('select nothing')));
    expect(error).toMatchObject({ code: '42703', name: 'error' });
  });

  test('a unique index is told by its name', async () => {
    const ctx = contextWithin(any());
    await store(ctx.scope, 1);
    const { error } = await timed(Promise.resolve(ctx.scope.knex('things').insert({ id: 2, name: 'thing 1' })));
    expect(error).toMatchObject({ constraint: 'things_name_key' });
  });

  test('a connection lost before the commit: nothing', async () => {
    const ctx = contextWithin(any());
    const work = transaction(ctx, async (tx) => {
      await store(tx.scope, 1);
      proxy.refuse();
      await store(tx.scope, 2);
    });
    await expect(work).rejects.toThrow(Unavailable);
    await expect.poll(stored).toEqual([]);
  });

  test('a connection lost before the answer to the commit: nobody knows, though here it has happened', async () => {
    const deadline = movable();
    const ctx = contextWithin(deadline);
    const work = transaction(ctx, async (tx) => {
      await store(tx.scope, 1);
      proxy.swallowAnswers();
      deadline.endIn(1_000);
    });
    await expect(work).rejects.toThrow(Ambiguous);
    await expect.poll(stored).toEqual([1]);
  });

  test('a lost connection does not hide why a transaction was refused', async () => {
    const ctx = contextWithin(any());
    const refusal = new Error('a rule says no');
    const work = transaction(ctx, async (tx) => {
      await store(tx.scope, 1);
      proxy.refuse();
      throw refusal;
    });
    await expect(work).rejects.toBe(refusal);
    await expect.poll(stored).toEqual([]);
  });

  test('no connection: nothing, and whatever the reason', async () => {
    const ctx = contextWithin(any());
    proxy.refuse();
    expect((await timed(store(ctx.scope, 1))).error).toBeInstanceOf(Unavailable);
    proxy.accept();
    knex = createKnex({ url: service.databaseUrl.replace(/[^/]+$/, 'no_such_database'), poolMax: 1 });
    expect((await timed(Promise.resolve(knex.raw('select 1')))).error).toMatchObject({ name: 'Unavailable', sqlstate: '3D000' });
  });
});

describe('a plan that no longer fits its table', () => {
  const all = { name: 'test.things', text: 'select t.*, $1::uuid as environment_id from things t' };

  test('is made anew on another connection', async () => {
    const ctx = contextWithin(deadlineIn(60_000));
    await store(ctx.scope, 1);
    expect(await run(ctx.scope, all, [])).toHaveLength(1);
    await base.db.knex.raw('alter table things add column more text');
    expect((await run<{ more: null }>(ctx.scope, all, []))[0]).toMatchObject({ id: 1, more: null });
  });

  test('in a transaction too, which is repeated', async () => {
    const ctx = contextWithin(deadlineIn(60_000));
    await run(ctx.scope, all, []);
    await base.db.knex.raw('alter table things add column still_more text');
    let tries = 0;
    await transaction(ctx, async (tx) => {
      tries += 1;
      await store(tx.scope, 1);
      expect(await run(tx.scope, all, [])).toHaveLength(1);
    });
    expect([tries, await stored()]).toEqual([2, [1]]);
  });
});
