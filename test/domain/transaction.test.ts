// What `transaction` promises: all or nothing, and a second try where PostgreSQL says "try that again".
import { beforeAll, expect, test } from 'vitest';
import { holdLock, scopeOf } from '../../src/db/scope.js';
import { Duplicate } from '../../src/db/connection/failures.js';
import { processLocksOf } from '../../src/db/connection/knex.js';
import { afterCommit, savepoint, transaction, type Context } from '../../src/domain/context.js';
import { sharedContext } from '../support/shared-context.js';

const ctx = sharedContext();
beforeAll(async () => {
  await ctx.db.knex.raw('create table counters (name text primary key, n integer not null)');
});

const add = (tx: Context, name: string) => tx.scope.knex.raw('update counters set n = n + 1 where name = ?', [name]);

async function counters(): Promise<Record<string, number>> {
  const rows = (await ctx.db.knex('counters').orderBy('name')) as { name: string; n: number }[];
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

/** Lets nobody on before `parties` have come; who comes later goes through. */
function meeting(parties: number): () => Promise<void> {
  let arrived = 0;
  let open = () => {};
  const all = new Promise<void>((resolve) => (open = resolve));
  return () => {
    arrived += 1;
    if (arrived >= parties) open();
    return all;
  };
}

test('a deadlock is tried again inside: both callers succeed, and each change is made once (fault F13)', async () => {
  await ctx.db.knex.raw(`truncate counters; insert into counters values ('one', 0), ('two', 0)`);
  const met = meeting(2);
  let tries = 0;
  const inOrder = (first: string, second: string) =>
    transaction(ctx, async (tx) => {
      tries += 1;
      await add(tx, first);
      await met();
      await add(tx, second);
      return `${first} ${second}`;
    });
  expect(await Promise.all([inOrder('one', 'two'), inOrder('two', 'one')])).toEqual(['one two', 'two one']);
  expect(await counters()).toEqual({ one: 2, two: 2 });
  // The one that lost may lose again, when it takes its first row before the other is awake.
  expect(tries).toBeGreaterThanOrEqual(3);
});

test('what goes on with a transaction that is over is refused, and gets into no other one', async () => {
  await ctx.db.knex.raw(`truncate counters; insert into counters values ('one', 0), ('two', 0)`);
  let over: Context | null = null;
  await transaction(ctx, async (tx) => {
    over = tx;
    await add(tx, 'one');
  });
  await expect(add(over as unknown as Context, 'two')).rejects.toThrow('the transaction is over');
  const failed = transaction(ctx, async (tx) => {
    over = tx;
    await add(tx, 'one');
    throw new Error('for the test');
  });
  await expect(failed).rejects.toThrow('for the test');
  await expect(add(over as unknown as Context, 'two')).rejects.toThrow('the transaction is over');
  expect(await counters()).toEqual({ one: 1, two: 0 });
});

test('a statement that failed is never told as a success, though the work goes on: nothing is committed, and the caller hears of it', async () => {
  await ctx.db.knex.raw(`truncate counters; insert into counters values ('one', 0)`);
  let told = false;
  const swallowing = transaction(ctx, async (tx) => {
    afterCommit(tx, () => (told = true));
    await add(tx, 'one');
    await tx.scope.knex.raw('select 1 / 0').catch(() => undefined);
  });
  await expect(swallowing).rejects.toThrow('it was rolled back');
  expect({ told, ...(await counters()) }).toEqual({ told: false, one: 0 });
});

test('a savepoint that nobody waits for gets nothing in once its transaction is over', async () => {
  await ctx.db.knex.raw(`truncate counters; insert into counters values ('one', 0), ('two', 0)`);
  const isOver = meeting(2);
  const begun = meeting(2);
  let late: Promise<unknown> = Promise.resolve();
  await transaction(ctx, async (tx) => {
    await add(tx, 'one');
    late = savepoint(tx, async (inner) => {
      void begun();
      await isOver();
      await add(inner, 'two');
    }).catch((error: unknown) => error);
    await begun();
  });
  void isOver();
  expect(await late).toMatchObject({ message: expect.stringMatching(/transaction/i) as string });
  expect(await counters()).toEqual({ one: 1, two: 0 });
});

test('savepoints side by side are taken back each for itself, and within each other', async () => {
  await ctx.db.knex.raw(`truncate counters; insert into counters values ('one', 0), ('two', 0)`);
  const undone = async (inner: Context) => {
    await add(inner, 'two');
    throw new Error('for the test');
  };
  const outcomes = await transaction(ctx, (tx) =>
    Promise.allSettled([
      savepoint(tx, async (inner) => {
        await add(inner, 'one');
        await expect(savepoint(inner, undone)).rejects.toThrow('for the test');
        await add(inner, 'one');
      }),
      savepoint(tx, undone),
    ]),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(await counters()).toEqual({ one: 2, two: 0 });
});

test('a constraint that is looked at when the transaction ends refuses it whole, and the connection goes on', async () => {
  await ctx.db.knex.raw(`create table ends (n integer unique deferrable initially deferred)`);
  const twice = transaction(ctx, async (tx) => {
    await tx.scope.knex.raw('insert into ends values (1)');
    await tx.scope.knex.raw('insert into ends values (1)');
  });
  await expect(twice).rejects.toThrow(Duplicate);
  await transaction(ctx, (tx) => tx.scope.knex.raw('insert into ends values (2)').then(() => undefined));
  expect(await ctx.db.knex('ends')).toEqual([{ n: 2 }]);
});

test('a serialization failure is tried again inside (fault F13)', async () => {
  await ctx.db.knex.raw(`truncate counters; insert into counters values ('one', 0)`);
  const met = meeting(2);
  let tries = 0;
  const count = () =>
    transaction(ctx, async (tx) => {
      tries += 1;
      await tx.scope.knex.raw('set transaction isolation level repeatable read');
      await tx.scope.knex.raw('select n from counters');
      await met();
      await add(tx, 'one');
    });
  await Promise.all([count(), count()]);
  expect([tries, await counters()]).toEqual([3, { one: 2 }]);
});

test('one that fails every time is given up after four tries, and any other error after the first', async () => {
  let tries = 0;
  const failing = (state: string) =>
    transaction(ctx, async (tx) => {
      tries += 1;
      await tx.scope.knex.raw(`do $$ begin raise exception 'no' using errcode = '${state}'; end $$`);
    });
  await expect(failing('40001')).rejects.toMatchObject({ sqlstate: '40001' });
  expect(tries).toBe(4);
  await expect(failing('23505')).rejects.toMatchObject({ sqlstate: '23505' });
  expect(tries).toBe(5);
});

test('what throws leaves nothing behind, and a transaction within one belongs to it', async () => {
  await ctx.db.knex.raw(`truncate counters; insert into counters values ('one', 0)`);
  const broken = transaction(ctx, async (tx) => {
    await add(tx, 'one');
    await transaction(tx, (inner) => add(inner, 'one'));
    throw new Error('no');
  });
  await expect(broken).rejects.toThrow('no');
  expect(await counters()).toEqual({ one: 0 });
});

/** Holds a name in a transaction of its own, and hands over how to end it. */
async function holding(name: string): Promise<() => Promise<void>> {
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  let reached = () => {};
  const held = new Promise<void>((resolve) => (reached = resolve));
  const whole = transaction(ctx, async (tx) => {
    await holdLock(tx.scope, name);
    reached();
    await ended;
  });
  await held;
  return async () => {
    end();
    await whole;
  };
}

test('however a transaction ends, who waits for what it held goes on', async () => {
  await ctx.db.knex.raw('create table twice (n integer unique deferrable initially deferred)');
  const endings: Record<string, (tx: Context) => Promise<unknown>> = {
    refused: async () => Promise.reject(new Error('no')),
    'refused by the database': (tx) => tx.scope.knex.raw('select 1 / 0'),
    'refused at the commit': (tx) => tx.scope.knex.raw('insert into twice values (1), (1)'),
    'refused in a part of it': (tx) => savepoint(tx, (inner) => inner.scope.knex.raw('select 1 / 0')),
    'cut off': (tx) => tx.scope.knex.raw('select pg_terminate_backend(pg_backend_pid())'),
  };
  for (const ending of Object.values(endings)) {
    const ended = transaction(ctx, async (tx) => {
      await holdLock(tx.scope, 'it');
      await ending(tx);
    });
    await expect(ended).rejects.toThrow();
    // At once: nobody is in line.
    await (
      await holding('it')
    )();
  }
  expect(processLocksOf(ctx.db.knex).state().length).toBe(0);
});

test('a transaction that has to wait in a part that may be taken back is begun anew as a whole, and leaves nothing of the first time', async () => {
  await ctx.db.knex.raw(`truncate counters; insert into counters values ('one', 0), ('two', 0)`);
  const release = await holding('it');
  let told = 0;
  let tries = 0;
  const waiting = transaction(ctx, async (tx) => {
    tries += 1;
    afterCommit(tx, () => (told += 1));
    await add(tx, 'one');
    await savepoint(tx, async (inner) => {
      afterCommit(inner, () => (told += 1));
      await add(inner, 'two');
      await holdLock(inner.scope, 'it');
    });
  });
  await expect.poll(() => processLocksOf(ctx.db.knex).state().length).toBe(1);
  // It holds neither its rows nor its connection meanwhile.
  await ctx.db.knex.raw(`update counters set n = n + 10`);
  await release();
  await waiting;
  expect([tries, told, await counters()]).toEqual([2, 2, { one: 11, two: 11 }]);
});

test('transactions that hold the same things in opposite orders, and for two environments, all come to their end', async () => {
  await ctx.db.knex.raw(`truncate counters; insert into counters values ('one', 0)`);
  const other = '00000000-0000-7000-8000-000000000000';
  const met = meeting(2);
  const inOrder = (first: string, second: string) =>
    transaction(ctx, async (tx) => {
      await holdLock(tx.scope, first);
      await met();
      await holdLock(tx.scope, second);
      await holdLock(scopeOf(tx.scope, other), first);
      await add(tx, 'one');
    });
  await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 ? inOrder('a', 'b') : inOrder('b', 'a'))));
  expect([await counters(), processLocksOf(ctx.db.knex).state().length]).toEqual([{ one: 20 }, 0]);
});
