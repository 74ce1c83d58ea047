import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { MovedTable } from './moved-tables.js';

// While an environment moves, triggers of every table ask whether it is held before one of its rows is written (`refuse_held_writes` of migration 0524).

/** For so long nobody waits behind a trigger that waits for a lock, in milliseconds; and how often it is tried. */
const patienceMs = 200;
const tries = 150;

/** Runs a statement that locks a table as soon as nothing holds it, so that no request queues up behind it. */
async function soon(client: Client, statement: string): Promise<void> {
  for (let left = tries; ; left--) {
    try {
      await client.query(`set lock_timeout = ${patienceMs}; ${statement}; set lock_timeout = 0`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== '55P03' || left === 0) throw error;
      await delay(patienceMs);
    }
  }
}

const triggerOf = (id: string) => `held_${id.replaceAll('-', '')}`;

/** Every write of the environment's rows is refused from now on once it has been held for a moment. */
export async function raiseFence(client: Client, tables: readonly MovedTable[], id: string): Promise<void> {
  const trigger = triggerOf(id);
  const ask = `execute function refuse_held_writes('${id}')`;
  for (const { name } of tables)
    await soon(
      client,
      `create or replace trigger ${trigger} before insert or update on ${name} for each row when (new.environment_id = '${id}') ${ask};
       create or replace trigger ${trigger}_gone before delete on ${name} for each row when (old.environment_id = '${id}') ${ask}`,
    );
  // Holding it and letting it go are writes too.
  await soon(
    client,
    `create or replace trigger ${trigger} before update on environments for each row
       when (new.id = '${id}' and (new.held_at, new.moved_at) is not distinct from (old.held_at, old.moved_at)) ${ask};
     create or replace trigger ${trigger}_gone before delete on environments for each row when (old.id = '${id}') ${ask}`,
  );
}

export async function lowerFence(client: Client, tables: readonly Pick<MovedTable, 'name'>[], id: string): Promise<void> {
  for (const { name } of [...tables, { name: 'environments' }])
    await soon(client, `drop trigger if exists ${triggerOf(id)} on ${name}; drop trigger if exists ${triggerOf(id)}_gone on ${name}`);
}

const lockOf = `hashtextextended('held ' || $1::text, 0)`;

/** A transaction that has written rows of the environment, and is still open, keeps it from moving. */
class StillWriting extends Error {}

const toldPlainly = (error: unknown): unknown =>
  (error as { code?: string }).code === '55P03'
    ? new StillWriting('a transaction that has written to the environment is still open')
    : error;

/**
 * Runs `work` while nobody has rows of the environment written and not committed, and nobody writes any: whoever wants to waits for it. It isn't held.
 * @throws {StillWriting} where transactions that write leave no moment between them
 */
export async function betweenWrites<T>(client: Client, id: string, work: () => Promise<T>): Promise<T> {
  const taken = soon(client, `select pg_advisory_lock(${lockOf.replace('$1', client.escapeLiteral(id))})`);
  await taken.catch((error: unknown) => Promise.reject(toldPlainly(error)));
  try {
    return await work();
  } finally {
    await client.query(`select pg_advisory_unlock(${lockOf})`, [id]);
  }
}

/** Waits for writes that had begun before the hold, by the lock that they share. @throws {StillWriting} after two seconds */
export async function awaitWriters(client: Client, id: string): Promise<void> {
  await client.query(
    `select pg_sleep(greatest(0, extract(epoch from held_at + interval '1600 milliseconds' - clock_timestamp()))) from environments where id = $1`,
    [id],
  );
  try {
    await client.query(`set lock_timeout = 2000`);
    await client.query(`select pg_advisory_lock(${lockOf})`, [id]);
    await client.query(`select pg_advisory_unlock(${lockOf})`, [id]);
  } catch (error) {
    throw toldPlainly(error);
  } finally {
    await client.query('set lock_timeout = 0');
  }
}
