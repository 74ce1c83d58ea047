import type { Knex } from 'knex';
import type { Client, QueryResultRow } from 'pg';
import type { Logger } from '../../platform/log/logger.js';
import { startLoop, type Loop } from '../../platform/loop.js';
import type { Metrics } from '../../platform/metrics/metrics.js';
import { openReplicaConnection } from '../connection/replica-connection.js';
import { queryOn, type NamedQuery } from '../connection/statements/named.js';

/** The longest replication lag, in milliseconds, at which the replica is used: a revoked token is refused within a second. */
const trustMs = 1000;
const pauseMs = 250;

/** A read replica (streaming standby) that answers look-ups as long as it is known to be at most a second behind. */
export type Replica = {
  /**
   * The rows, at least one, as they were at most a second before the answer; null when the primary must be asked: the replica isn't trusted
   * or failed, or has no such row (yet). Never throws.
   */
  lookUp<Row extends QueryResultRow>(query: NamedQuery): Promise<Row[] | null>;
  /** Compares the replica's replay position with the primary's once; the loop calls it. Never throws. */
  check(): Promise<void>;
  close(): Promise<void>;
};

/** Where the primary's log ended some time after `at` (monotonic milliseconds): whatever was committed before lies before it. */
type Position = { readonly at: number; readonly lsn: string; readonly timeline: number; readonly system: string };

/** A connection to the replica, and until when (monotonic milliseconds) it is trusted: a new connection may lead to another server. */
type Attachment = { readonly client: Client; trustedUntil: number };

// The insert position: with synchronous_commit=off a commit is visible, and answered, before it is written. The timeline comes from the name
// of the log file, since the control file of a server that was just promoted still has the one before.
const position = `
  select pg_current_wal_insert_lsn()::text as lsn, ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int as timeline,
    system_identifier::text as system
  from pg_control_system()`;

// Positions of another cluster, or of another timeline after a failover, can't be compared.
const reached = {
  name: 'replica.reached',
  text: `select count(*)::int as reached
         from unnest($1::pg_lsn[]) as noted, pg_control_checkpoint() as checkpoint, pg_control_system() as cluster
         where pg_is_in_recovery() and noted <= pg_last_wal_replay_lsn()
           and checkpoint.timeline_id = $2::int and cluster.system_identifier = $3::bigint`,
};

/** Recent WAL positions of the primary, to be compared with what a replica has replayed. */
function createPositions(primary: Knex) {
  let positions: Position[] = [];
  return {
    /** Reads the primary's current WAL position. @throws what the database throws */
    async note(): Promise<void> {
      const at = performance.now();
      const { rows } = await primary.raw<{ rows: Omit<Position, 'at'>[] }>(position);
      const noted = { at, ...(rows[0] as Omit<Position, 'at'>) };
      positions = positions.filter((one) => one.timeline === noted.timeline && one.system === noted.system && at - one.at < trustMs);
      positions.push(noted);
    },
    /** Trusts the replica for a second from the latest position that it has replayed. */
    async compare(mine: Attachment): Promise<void> {
      const latest = positions.at(-1) as Position;
      const values = [positions.map(({ lsn }) => lsn), latest.timeline, latest.system];
      const [row] = await queryOn<{ reached: number }>(mine.client, { ...reached, values });
      const known = positions[(row?.reached ?? 0) - 1];
      if (known) mine.trustedUntil = Math.max(mine.trustedUntil, known.at + trustMs);
    },
  };
}

/** The connection to the replica, if there is one. */
function createAttaching(url: string) {
  let attached: Attachment | null = null;

  /** Ends trust at once. The statements that are still on their way are asked of the primary. */
  function detach(mine: Attachment): void {
    mine.trustedUntil = 0;
    if (attached === mine) attached = null;
    void mine.client.end().catch(() => undefined);
  }

  return {
    current: () => attached,
    detach,
    /** The connection that there is, or a new one. */
    async attach(): Promise<Attachment> {
      if (attached) return attached;
      const mine: Attachment = { client: openReplicaConnection(url), trustedUntil: 0 };
      mine.client.on('error', () => detach(mine));
      mine.client.on('end', () => detach(mine));
      try {
        await mine.client.connect();
      } catch (error) {
        detach(mine);
        throw error;
      }
      return (attached ??= mine);
    },
  };
}

/** Logs when use of the replica begins and ends, once for each change; at the start only after a grace period. */
function createTelling(logger: Logger): (trusted: boolean, error: unknown) => void {
  const begun = performance.now();
  let lastLogged: boolean | null = null;
  return (trusted, error) => {
    if (trusted === lastLogged) return;
    if (lastLogged === null && !trusted && error === undefined && performance.now() - begun < trustMs) return;
    if (trusted) logger.info({ event: 'replica.used' }, 'the read replica is used');
    else logger.warn({ event: 'replica.unused', err: error }, 'the read replica is not used');
    lastLogged = trusted;
  };
}

/** Prepares a replica of the primary behind `primary`; it connects with the first check, and is asked for nothing before it. */
export function createReplica(options: { url: string; primary: Knex; metrics: Metrics; logger: Logger }): Replica {
  const { url, primary, metrics, logger } = options;
  const attaching = createAttaching(url);
  const positions = createPositions(primary);
  const tell = createTelling(logger);
  let closed = false;

  const askPrimary = (why: 'untrusted' | 'late' | 'missing' | 'failed'): null => {
    metrics.replicaLookUps.count(why);
    return null;
  };

  return {
    async lookUp<Row extends QueryResultRow>(query: NamedQuery) {
      const mine = attaching.current();
      const until = mine?.trustedUntil ?? 0;
      if (!mine || performance.now() >= until) return askPrimary('untrusted');
      try {
        const rows = await queryOn<Row>(mine.client, query);
        // Trust that was renewed later doesn't apply to what this statement saw.
        if (performance.now() >= until) return askPrimary('late');
        if (rows.length === 0) return askPrimary('missing');
        metrics.replicaLookUps.count('served');
        return rows;
      } catch {
        attaching.detach(mine);
        return askPrimary('failed');
      }
    },
    async check() {
      if (closed) return;
      let failure: unknown;
      try {
        const mine = await attaching.attach();
        await positions.note();
        await positions.compare(mine).catch((error: unknown) => {
          attaching.detach(mine);
          throw error;
        });
      } catch (error) {
        failure = error;
      }
      const now = attaching.current();
      if (!closed) tell(now !== null && performance.now() < now.trustedUntil, failure);
    },
    async close() {
      closed = true;
      const mine = attaching.current();
      if (mine) attaching.detach(mine);
    },
  };
}

/** Checks the replica four times a second. */
export function startReplicaChecks(replica: Replica, logger: Logger): Loop {
  return startLoop({
    name: 'replica',
    pauseMs,
    logger,
    async pass() {
      await replica.check();
      return 'done';
    },
  });
}
