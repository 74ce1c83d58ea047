import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';

const pauseMs = 100;

/**
 * Runs `work` unless another process holds the named lock. The lock belongs to a transaction of its own (so it also works through a
 * transaction pooler, and ends with the connection of a killed process); `work` uses other connections, so a process holds one lock at a time,
 * whatever its name: a few of them would take all connections of a small pool, and each would wait for one more. Never call it inside `work`.
 * @returns whether it ran.
 */
export async function tryAdvisoryLock(knex: Knex, name: string, work: () => Promise<void>): Promise<boolean> {
  // Of the pool: settles when the work under its latest lock has ended.
  const pool = knex.client as { advisoryTurn?: Promise<unknown> };
  const turn = (pool.advisoryTurn ?? Promise.resolve()).then(() => holdAdvisoryLock(knex, name, work));
  pool.advisoryTurn = turn.catch(() => undefined);
  return turn;
}

async function holdAdvisoryLock(knex: Knex, name: string, work: () => Promise<void>): Promise<boolean> {
  return knex.transaction(async (trx) => {
    // The transaction only holds the lock and is idle while `work` runs.
    await trx.raw('set local idle_in_transaction_session_timeout = 0');
    const result = await trx.raw<{ rows: { locked: boolean }[] }>('select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as locked', [
      name,
    ]);
    if (!result.rows[0]?.locked) return false;
    await work();
    return true;
  });
}

/** Runs `work` while no other process holds the named lock; waits for its turn. */
export async function withAdvisoryLock(knex: Knex, name: string, work: () => Promise<void>): Promise<void> {
  while (!(await tryAdvisoryLock(knex, name, work))) await delay(pauseMs);
}
