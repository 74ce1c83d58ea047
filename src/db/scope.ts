import { channel } from 'node:diagnostics_channel';
import type { Knex } from 'knex';
import type { QueryResultRow } from 'pg';
import { noDeadline, type Deadline } from '../lib/deadline.js';
import { Outdated } from './connection/failures.js';
import { spending, statementBatchersOf, type StatementBatchers } from './connection/knex.js';
import { runOn, type NamedQuery } from './connection/statements/named.js';
import type { RowKey } from './connection/statements/pending.js';
import type { Replica } from './postgres/replica.js';
import type { TransactionLocks } from './connection/process-locks.js';

/**
 * The one door to environment-owned tables: whose rows, and through which connection. Inside `transaction` the knex member is
 * the transaction, so the same table functions work in both.
 */
export type Scope = {
  readonly environment_id: string;
  /** Of an actor of an organization: lists and records of the Management API have what is its own alone (`visibleRows`). */
  readonly organization_id?: string | undefined;
  readonly knex: Knex;
  /** Told the tables that are written through this scope: what the process remembers of them is dropped after commit. */
  readonly touched: { add(table: string): unknown; has(table: string): boolean };
  /** Asked first by look-ups, for callers that may see what is up to a second old. */
  readonly replica?: Replica | undefined;
  /** What waiting for a connection and for answers spends from. */
  readonly deadline: Deadline;
  /** Where short statements go; none in a transaction, whose statements belong to it. */
  readonly batchers?: StatementBatchers | undefined;
  /** Of a transaction: which locks of this process it holds. */
  readonly locks?: TransactionLocks | undefined;
  /** Of a transaction: the events that it has yet to store, which its next audit entry takes along, and its commit at the latest. */
  readonly events?: PendingEvent[] | undefined;
};

/** An event that is to be stored. Without `subscribers` the database looks for the webhooks that want it. */
export type PendingEvent = {
  readonly id: string;
  readonly event_type: string;
  readonly occurred_at: Date;
  readonly body: string;
  readonly subscribers: readonly string[] | null;
};

/** Outside of a transaction nothing waits for a commit: what is written there is noted for nobody. */
const untracked: Scope['touched'] = { add: () => undefined, has: () => false };

/** A scope whose pool with a deadline is made when something asks for it: what the batchers answer doesn't. Made for every request, hence a class. */
class RequestScope implements Scope {
  readonly touched = untracked;
  readonly #pool: Knex;
  #own: Knex | null = null;

  constructor(
    pool: Knex,
    readonly environment_id: string,
    readonly deadline: Deadline,
    readonly batchers: StatementBatchers | undefined,
    readonly replica: Replica | undefined,
    readonly organization_id?: string,
  ) {
    this.#pool = pool;
  }

  get knex(): Knex {
    return (this.#own ??= spending(this.#pool, this.deadline, this.environment_id));
  }
}

/** A scope of one environment outside any transaction. */
export const createScope = (
  knex: Knex,
  environment_id: string,
  deadline: Deadline = noDeadline,
  replica?: Replica,
  organization_id?: string,
): Scope => new RequestScope(knex, environment_id, deadline, statementBatchersOf(knex), replica, organization_id);

/** The same scope for another environment, such as one that the same transaction has just made. */
export function scopeOf({ touched, deadline, batchers, knex, locks }: Scope, environment_id: string): Scope {
  return { environment_id, touched, deadline, batchers, knex, locks };
}

/** The rows of the environment in a table, as a Knex query that already filters by environment. */
export const table = <Row extends object>(scope: Scope, name: string): Knex.QueryBuilder<Row, Row[]> =>
  scope.knex<Row>(name).where(`${name}.environment_id`, scope.environment_id) as unknown as Knex.QueryBuilder<Row, Row[]>;

/** Inserts a row stamped with the environment and returns it. */
export async function insert<Row extends object>(scope: Scope, name: string, row: Partial<Row>): Promise<Row> {
  scope.touched.add(name);
  const [stored] = await scope
    .knex(name)
    .insert({ ...row, environment_id: scope.environment_id })
    .returning('*');
  return stored as Row;
}

/**
 * Changes the row of the given key and returns it as it is then, or null when there is none. A `version` column counts up
 * with every change when `versioned` is left on.
 */
export async function update<Row extends object>(
  scope: Scope,
  name: string,
  key: Partial<Row>,
  changes: Partial<Row>,
  versioned = true,
): Promise<Row | null> {
  scope.touched.add(name);
  const patch: Record<string, unknown> = versioned ? { ...changes, version: scope.knex.raw('version + 1') } : { ...changes };
  const [row] = await scope
    .knex(name)
    .where({ ...key, environment_id: scope.environment_id })
    .update(patch)
    .returning('*');
  return (row as Row | undefined) ?? null;
}

/** Inserts rows stamped with the environment; those that are there already stay as they are. */
export async function insertMissing<Row extends object>(scope: Scope, name: string, rows: readonly Partial<Row>[]): Promise<void> {
  if (rows.length === 0) return;
  scope.touched.add(name);
  await scope
    .knex(name)
    .insert(rows.map((row) => ({ ...row, environment_id: scope.environment_id })))
    .onConflict()
    .ignore();
}

/** Deletes the rows of the given key and returns how many there were. */
export async function remove<Row extends object>(scope: Scope, name: string, key: Partial<Row>): Promise<number> {
  scope.touched.add(name);
  return scope
    .knex(name)
    .where({ ...key, environment_id: scope.environment_id })
    .delete();
}

/**
 * A statement that runs for a moment, so that it may share connections and round trips with others of its kind when it is run outside of a transaction
 * (statements/statement-batcher.ts). A `look_up` reads a few rows by key and locks none. A `write` stores new rows, or changes one: `key` is the number of the parameter
 * (2: `$2`) that holds that row's key, by which all of them are put in the same order.
 */
export type Short = 'look_up' | { readonly kind: 'write'; readonly key: number };

/** A statement that Postgres parses and plans once per connection; `name` is unique among all statements of the service. */
export type Statement = { readonly name: string; readonly text: string; readonly short?: Short };

/** Tells the texts of the statements that the primary is asked to whoever subscribes, such as tests that count them. */
export const statements = channel('identity-provider.statement');

/**
 * Runs a named statement: the hot path's way around the query builder. By convention its first parameter is the
 * environment's id, which this function fills in. What a replica doesn't know the primary is asked.
 */
export async function run<Row extends QueryResultRow>(scope: Scope, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
  const query = {
    name: statement.name,
    text: statement.text,
    values: [scope.environment_id, ...values],
    environment_id: scope.environment_id,
  };
  if (scope.replica && statement.short === 'look_up') {
    const rows = await scope.replica.lookUp<Row>(query);
    if (rows !== null) return rows;
  }
  if (statements.hasSubscribers) statements.publish(statement.text);
  const { batchers, deadline } = scope;
  if (batchers && statement.short) return runShort<Row>(batchers, statement.short, query, deadline);
  return runOn<Row>(scope.knex, query).catch((error: unknown) => {
    // The plan was made before a migration: a new connection makes it anew. A transaction is repeated as a whole.
    if (!(error instanceof Outdated) || scope.knex.isTransaction) throw error;
    return runOn<Row>(scope.knex, query);
  });
}

/**
 * Holds a lock of the environment until the transaction ends; others that want it wait until then. Those of this process wait without a connection, so
 * that a burst of them leaves the pool to everything else; one connection of each other process may wait for the lock. The lock by the name of a table is for
 * whoever counts its rows before adding one: what is counted stays so until the transaction ends, but for its own.
 * @throws {LockTaken} which `transaction` answers by beginning anew when it has been handed the lock
 */
export async function holdLock(scope: Scope, name: string): Promise<void> {
  scope.locks?.take(`${name} ${scope.environment_id}`);
  const text = `select 1 from (select pg_advisory_xact_lock(hashtextextended($2::text || ' ' || $1::text, 0))) as held`;
  await run(scope, { name: 'scope.hold_lock', text }, [name]);
}

/** Runs a short statement on a connection that it shares. */
export const runShort = <Row extends QueryResultRow>(
  batchers: StatementBatchers,
  short: Short,
  query: NamedQuery,
  deadline: Deadline,
): Promise<Row[]> =>
  short === 'look_up'
    ? batchers.look_up.query<Row>(query, { key: null, deadline })
    : batchers.write.query<Row>(query, { key: query.values[short.key - 1] as RowKey, deadline });
