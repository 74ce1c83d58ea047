import type { Client, QueryResultRow } from 'pg';
import type { NamedQuery } from './named.js';
import { StatementBatch, type PreparedStatements } from './batch.js';

/** A few connections that short statements of many requests share. */
export type StatementLine = {
  /** Runs a named statement outside of any transaction of the caller's. */
  query<Row extends QueryResultRow>(query: NamedQuery): Promise<Row[]>;
  /** How long the oldest statement has waited for a connection, in seconds; 0 when none waits. */
  oldestWait(): number;
  close(): Promise<void>;
};

type Waiting = {
  readonly query: NamedQuery;
  /** Monotonic milliseconds. */
  readonly since: number;
  readonly resolve: (rows: QueryResultRow[]) => void;
  readonly reject: (error: unknown) => void;
  /** Whether it was run before, in vain. */
  again?: boolean;
};

/** One of the connections; `session` is null until it is needed, and after it was lost. */
type Lane = { session: Promise<Session> | null; busy: boolean };
type Session = { readonly client: Client; readonly prepared: PreparedStatements };

const minShare = 4;
const maxBatch = 128;

const endedMessage = 'the database connections are closed';

/**
 * The order in which statements that lock rows run within a batch, everywhere the same: by name and first value, which is the row's key. So two batches
 * never hold what the other one waits for.
 */
function byKey({ query: one }: Waiting, { query: other }: Waiting): number {
  const [, key] = one.values;
  const [, otherKey] = other.values;
  if (one.name !== other.name) return one.name < other.name ? -1 : 1;
  return Buffer.isBuffer(key) && Buffer.isBuffer(otherKey) ? key.compare(otherKey) : 0;
}

/** The server has answered that a statement failed, so nothing of its batch has happened; otherwise nobody knows. */
const isRefusal = (error: Error): boolean => (error as { severity?: string }).severity === 'ERROR';

/** How `pg` says that the server hasn't answered in time; it goes on to use the connection. */
export const silenceMessage = 'Query read timeout';

/** A prepared statement that no longer fits the tables, or was dropped: only another connection helps. */
const outdated = new Set(['0A000', '26000']);

/**
 * Runs the statements of all requests that come in together as one batch, and what comes meanwhile as the next. An idle connection takes a statement
 * at once, so nobody waits for company; under load one round trip, one commit and one wake-up of either side serve many
 * requests. Each of them is on its own all the same: when one fails, its batch has not happened, and its statements are run again one
 * by one.
 *
 * Only for short statements that lock nothing, or one row whose key is their second value (`locking`): those behind them wait. A connection that is lost
 * takes the writes on it with it, and those that wait if the server doesn't let us in or doesn't answer; look-ups are run once more. The next
 * statement opens another.
 */
export function createStatementLine(open: () => Client, options: { connections: number; locking: boolean }): StatementLine {
  const { connections, locking } = options;
  const lanes = Array.from({ length: connections }, (): Lane => ({ session: null, busy: false }));
  const waiting: Waiting[] = [];
  const alone: Waiting[] = [];
  let scheduled = false;
  let closed = false;

  async function connect(lane: Lane): Promise<Session> {
    const client = open();
    const forget = () => {
      if (lane.session === mine) lane.session = null;
    };
    client.on('error', forget);
    client.on('end', forget);
    const mine = client.connect().then(() => ({ client, prepared: new Map() as PreparedStatements }));
    lane.session = mine;
    try {
      return await mine;
    } catch (error) {
      forget();
      void client.end().catch(() => undefined);
      throw error;
    }
  }

  function hangUp(lane: Lane): void {
    const session = lane.session;
    lane.session = null;
    void session?.then(({ client }) => client.end()).catch(() => undefined);
  }

  /** Runs the queries as one batch. */
  function send({ client, prepared }: Session, queries: readonly NamedQuery[]): Promise<QueryResultRow[][]> {
    return new Promise((resolve, reject) => {
      const batch = new StatementBatch(
        queries,
        prepared,
        (type, format) => client.getTypeParser(type, format) as (text: string) => unknown,
      );
      const done = (error: Error | null) => {
        if (error) reject(Object.assign(error, { prepares: batch.prepares }));
        else resolve(batch.rows);
      };
      (client.query as (batch: StatementBatch, done: (error: Error | null) => void) => void).call(client, batch, done);
    });
  }

  function failed(lane: Lane, group: readonly Waiting[], error: Error & { prepares?: boolean; code?: string }): void {
    const refusal = isRefusal(error);
    const stale = outdated.has(error.code ?? '');
    const silent = error.message === silenceMessage;
    if (!refusal || error.prepares || stale) hangUp(lane);
    for (const one of group) {
      // Refused together, each is run alone; outdated, or lost with its connection if it only reads, once more.
      if (refusal && group.length > 1) alone.push(one);
      else if (!one.again && (stale || (!refusal && !locking && !silent))) waiting.push(Object.assign(one, { again: true }));
      else one.reject(error);
    }
    if (silent) refuseWaiting(error);
  }

  /** Those that wait would wait as long again. */
  function refuseWaiting(error: unknown): void {
    for (const one of [...waiting.splice(0), ...alone.splice(0)]) one.reject(error);
  }

  async function run(lane: Lane, group: readonly Waiting[]): Promise<void> {
    let session: Session;
    try {
      if (closed) throw new Error(endedMessage);
      session = await (lane.session ?? connect(lane));
    } catch (error) {
      for (const one of group) one.reject(error);
      refuseWaiting(error);
      return;
    }
    try {
      const rows = await send(session, group.map(({ query }) => query)); // prettier-ignore
      group.forEach((one, index) => one.resolve(rows[index] as QueryResultRow[]));
    } catch (error) {
      failed(lane, group, error as Error);
    }
  }

  /** What waits is shared out among the idle lanes, so that the process has answers to work on while the server is at the rest. */
  function nextGroup(): Waiting[] {
    if (alone.length > 0) return alone.splice(0, 1);
    const idle = lanes.reduce((count, lane) => (lane.busy ? count : count + 1), 0);
    const group = waiting.splice(0, Math.min(maxBatch, Math.max(minShare, Math.ceil(waiting.length / idle))));
    return locking && group.length > 1 ? group.sort(byKey) : group;
  }

  function dispatch(): void {
    scheduled = false;
    for (const lane of lanes) {
      if (lane.busy) continue;
      const group = nextGroup();
      if (group.length === 0) return;
      lane.busy = true;
      void run(lane, group).finally(() => {
        lane.busy = false;
        dispatch();
      });
    }
  }

  return {
    query<Row extends QueryResultRow>(query: NamedQuery) {
      if (closed) return Promise.reject(new Error(endedMessage));
      return new Promise<Row[]>((resolve, reject) => {
        waiting.push({ query, since: performance.now(), resolve: resolve as Waiting['resolve'], reject });
        if (scheduled) return;
        scheduled = true;
        // After the requests that have arrived with this one.
        setImmediate(dispatch);
      });
    },
    oldestWait() {
      const oldest = alone[0] ?? waiting[0];
      return oldest ? (performance.now() - oldest.since) / 1000 : 0;
    },
    async close() {
      closed = true;
      const sessions = lanes.map((lane) => lane.session);
      for (const lane of lanes) lane.session = null;
      await Promise.all(sessions.map(async (session) => (await session)?.client.end())).catch(() => undefined);
    },
  };
}
