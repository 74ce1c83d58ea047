import type { Knex } from 'knex';
import { servedSql } from './served.js';
import { runSystem } from './system.js';

/** What rows have that wait for an attempt, and for the next one after a failure. */
export type WaitingRow = {
  environment_id: string;
  id: string;
  attempt_count: number;
  next_attempt_at: Date | null;
  lease_id: string | null;
  leased_until: Date | null;
  last_error: string | null;
  created_at: Date;
};

// A queue works for all environments together, so its statements go through the unscoped door. Leases and due times follow the database's clock:
// replicas whose clocks differ still agree on who holds what.

/** A destination that rows wait for, and since when the first of them has been due. `id` tells those of one environment apart. */
export type DueDestination = { readonly environment_id: string; readonly id: string; readonly due_at: Date };

/** A claimed row as it is given back or recorded: which, and under which lease (the fencing token). */
export type HeldRow = { readonly environment_id: string; readonly id: string; readonly lease_id: string };

export type Lease = { readonly lease_id: string; readonly leaseMs: number };

/** A claimed row, for whom, and since when it has been due. */
export type ClaimedRow<Row> = Row & { readonly destination_id: string; readonly due_at: Date };

/**
 * What every table that is worked off as a queue can do. Its rows have `next_attempt_at` (null when there is nothing left to do), `lease_id` and
 * `leased_until`.
 */
export type QueueRows<Row> = {
  /** The quick query, of the `limit` rows that have been due longest. `full`: there were so many, and there may be more destinations behind them. */
  findDue(knex: Knex, limit: number): Promise<{ due: DueDestination[]; full: boolean }>;
  /** The full scan: jumps through the queue from destination to destination, one index probe each; `limit` of them at most. */
  findAllDue(knex: Knex, limit: number): Promise<DueDestination[]>;
  /** Milliseconds until something falls due (never negative), or null when nothing waits. A lease that may lapse counts. */
  millisecondsToNextDue(knex: Knex): Promise<number | null>;
  /**
   * Claims due rows, the oldest of each destination first, `limit` of them; rows that another process is claiming are skipped. Whoever holds a lease
   * that has run out has lost the row to the next taker.
   */
  claim(knex: Knex, claims: readonly (DueDestination & { limit: number })[], lease: Lease): Promise<ClaimedRow<Row>[]>;
  /** Gives claimed rows back unworked, due as they were, and wakes the other processes. Rows whose lease was lost are left alone. */
  release(knex: Knex, held: readonly (HeldRow & { due_at: Date })[]): Promise<void>;
};

/** What an attempt at a held row led to: `retry_in_ms` until the next one, null when it was the last. */
export type AttemptRecord = HeldRow & { readonly last_error: string | null; readonly retry_in_ms: number | null };

/**
 * Records attempts at rows of the table `name`, and gives up their leases. Rows whose lease was lost meanwhile are left alone.
 * @param set what else changes, as SQL over the row `q` and the record `g`
 * @param columns the members of a record that `set` names, with their types
 * @returns the ids of the rows that were recorded
 */
export async function recordAttempts(
  knex: Knex,
  { name, set, columns }: { readonly name: string; readonly set: string; readonly columns: string },
  records: readonly AttemptRecord[],
): Promise<string[]> {
  const text = `update ${name} q
    set ${set}, last_error = g.last_error, attempt_count = q.attempt_count + 1, lease_id = null, leased_until = null,
        next_attempt_at = now() + make_interval(secs => g.retry_in_ms / 1000)
    from json_to_recordset($1::json) as g
      (environment_id uuid, id uuid, lease_id uuid, last_error text, retry_in_ms float8, ${columns})
    where q.environment_id = g.environment_id and q.id = g.id and q.lease_id = g.lease_id
    returning q.id`;
  const rows = await runSystem<{ id: string }>(knex, { name: `${name}.record`, text }, [JSON.stringify(records)]);
  return rows.map((row) => row.id);
}

/** Seconds since `since` (a column) of the oldest row of the table `name` that is or will be due; 0 when there is none. */
export async function oldestWaitingSeconds(knex: Knex, name: string, since: 'created_at' | 'next_attempt_at'): Promise<number> {
  const text = `select extract(epoch from now() - min(${since}))::float8 as seconds from ${name} where next_attempt_at is not null and ${servedSql('environment_id')}`;
  const [row] = await runSystem<{ seconds: number | null }>(knex, { name: `${name}.oldest_due`, text }, []);
  return Math.max(0, row?.seconds ?? 0);
}

/** The statements over such a table, written once for all of them. */
function statementsFor(name: string, channel: string, destination: string | null) {
  const key = destination === null ? 'environment_id' : `environment_id, ${destination}`;
  const id = destination ?? 'environment_id::text';
  const ofDestination = `q.environment_id = w.environment_id${destination === null ? '' : ` and q.${destination} = w.id`}`;
  const nextKey = `(${key}) > (${key.replace(/\w+/g, 'j.$&')})`;
  return {
    due: `with seen as (select environment_id, ${id} as id, next_attempt_at from ${name} where next_attempt_at <= now()
                        and ${servedSql('environment_id')} order by next_attempt_at limit $1)
          select environment_id, id, min(next_attempt_at) as due_at, (select count(*) from seen)::integer as seen from seen group by 1, 2`,
    allDue: `with recursive j as (
               (select ${key}, next_attempt_at from ${name} where next_attempt_at is not null order by ${key}, next_attempt_at limit 1)
               union all
               select n.* from j cross join lateral (
                 select ${key}, next_attempt_at from ${name} where next_attempt_at is not null and ${nextKey}
                 order by ${key}, next_attempt_at limit 1) n)
             select environment_id, ${id} as id, next_attempt_at as due_at from j where next_attempt_at <= now() and ${servedSql('environment_id')} limit $1`,
    nextDue: `select extract(epoch from min(next_attempt_at) - now())::float8 * 1000 as ms from ${name}
              where next_attempt_at is not null and ${servedSql('environment_id')}`,
    // `leased_until` is asked too: a process of an older version moves nothing else when it claims.
    claim: `with picked as materialized (
              select d.* from unnest($1::uuid[], $2::text[], $3::integer[]) as w (environment_id, id, room) cross join lateral (
                select q.environment_id, q.id, w.id as destination_id, q.next_attempt_at as due_at from ${name} q
                where ${ofDestination} and ${servedSql('w.environment_id')} and q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until <= now())
                order by q.next_attempt_at, q.id limit w.room for update skip locked) d)
            update ${name} q
            set lease_id = $4, leased_until = now() + make_interval(secs => $5::float8 / 1000),
                next_attempt_at = now() + make_interval(secs => $5::float8 / 1000)
            from picked p where q.environment_id = p.environment_id and q.id = p.id
            returning q.*, p.destination_id, p.due_at`,
    release: `with released as (
                update ${name} q set lease_id = null, leased_until = null, next_attempt_at = h.due_at
                from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::timestamptz[]) as h (environment_id, id, lease_id, due_at)
                where q.environment_id = h.environment_id and q.id = h.id and q.lease_id = h.lease_id
                returning q.id)
              select notify_after_commit('outbox', '${channel}') from (select count(*) from released) r (n) where n > 0`,
  };
}

/**
 * @param name of the table, and of its loop as `channel` names it to `notify_after_commit('outbox', ...)`
 * @param destination the column that tells the destinations of an environment apart; null when the environment is one
 */
export function queueRows<Row extends object>(name: string, channel: string, destination: string | null): QueueRows<Row> {
  const statements = statementsFor(name, channel, destination);
  return {
    async findDue(knex, limit) {
      const rows = await runSystem<DueDestination & { seen: number }>(knex, { name: `${name}.due`, text: statements.due }, [limit]);
      return {
        due: rows.map(({ environment_id, id: of, due_at }) => ({ environment_id, id: of, due_at })),
        full: (rows[0]?.seen ?? 0) >= limit,
      };
    },
    findAllDue: (knex, limit) => runSystem(knex, { name: `${name}.all_due`, text: statements.allDue }, [limit]),
    async millisecondsToNextDue(knex) {
      const [row] = await runSystem<{ ms: number | null }>(knex, { name: `${name}.next_due`, text: statements.nextDue }, []);
      return row?.ms == null ? null : Math.max(0, row.ms);
    },
    async claim(knex, claims, { lease_id, leaseMs }) {
      const columns = [claims.map((one) => one.environment_id), claims.map((one) => one.id), claims.map((one) => one.limit)];
      const statement = { name: `${name}.claim`, text: statements.claim };
      const rows = await runSystem<ClaimedRow<Row>>(knex, statement, [...columns, lease_id, leaseMs]);
      return rows.sort((one, other) => one.due_at.getTime() - other.due_at.getTime());
    },
    async release(knex, held) {
      await runSystem(knex, { name: `${name}.release`, text: statements.release }, [
        held.map((one) => one.environment_id),
        held.map((one) => one.id),
        held.map((one) => one.lease_id),
        held.map((one) => one.due_at),
      ]);
    },
  };
}
