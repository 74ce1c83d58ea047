import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Knex } from 'knex';
import type { Client, QueryResultRow } from 'pg';
import type { Logger } from '../../platform/log/logger.js';
import { startLoop, type Loop } from '../../platform/loop.js';
import type { Metrics } from '../../platform/metrics/metrics.js';
import { openReplicaConnection } from '../connection/replica-connection.js';
import { queryOn, type NamedQuery } from '../connection/statements/named.js';
import { createWalPositions } from './wal-positions.js';

/** The longest replication lag, in milliseconds, at which the replica is used: a revoked token is refused within a second. */
const trustMs = 1000;
const pauseMs = 250;
/** How long the replica in use goes without trust before another takes its place, and how long it has been trusted again when it comes back. */
const patienceMs = 1000;
const returnMs = 30_000;

/** Read replicas (streaming standbys), of which one answers look-ups as long as it is known to be at most a second behind; another is held in reserve. */
export type Replica = {
  /**
   * The rows, at least one, as they were at most a second before the answer; null when the primary must be asked: the replica isn't trusted
   * or failed, or has no such row (yet). Never throws.
   */
  lookUp<Row extends QueryResultRow>(query: NamedQuery): Promise<Row[] | null>;
  /** Compares the replay positions with the primary's once, and chooses; the loop calls it. Never throws. */
  check(): Promise<void>;
  close(): Promise<void>;
};

/** A connection to the replica, and until when (monotonic milliseconds) it is trusted: a new connection may lead to another server. */
type Attachment = { readonly client: Client; trustedUntil: number };

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

/** The replica of a process and the one in reserve: processes spread over all of a list by what they are called. */
export function spread<T>(all: readonly T[], name = `${hostname()}:${process.pid}`): T[] {
  const first = createHash('sha256').update(name).digest().readUInt32BE() % all.length;
  return [...all.slice(first), ...all.slice(0, first)].slice(0, 2);
}

/** Which of two is in use: the first, unless it has gone without trust while the second had it, and until it has been trusted for a while again. */
export function createChoice(): (trusted: readonly boolean[], now: number) => number {
  let chosen = 0;
  /** Since when the first has been as it is. */
  let since = Number.NEGATIVE_INFINITY;
  let before: boolean | null = null;
  return ([first = false, second = false], now) => {
    if (first !== before) [before, since] = [first, now];
    if (chosen === 0 && !first && second && now - since >= patienceMs) chosen = 1;
    else if (chosen === 1 && first && (!second || now - since >= returnMs)) chosen = 0;
    return chosen;
  };
}

/** The replicas that this process may ask. */
function createCandidates(urls: readonly string[], primary: Knex) {
  const candidates = spread(urls).map(createAttaching);
  const positions = createWalPositions(primary, trustMs);

  /** Trusts the replica for a second from the latest position that it has replayed. @returns why it couldn't be asked */
  async function compare({ attach, detach }: (typeof candidates)[number]): Promise<unknown> {
    try {
      const mine = await attach();
      const replayed = await positions
        .replayedBy((query) => queryOn<{ reached: number }>(mine.client, query))
        .catch((error: unknown) => {
          detach(mine);
          throw error;
        });
      if (replayed) mine.trustedUntil = Math.max(mine.trustedUntil, replayed.at + trustMs);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  return {
    at: (index: number) => candidates[index] as (typeof candidates)[number],
    /** Which are trusted now, and why others couldn't be asked. */
    async check(): Promise<{ readonly trusted: readonly boolean[]; readonly failures: readonly unknown[] }> {
      const failures: unknown[] = await positions.note().then(
        () => Promise.all(candidates.map(compare)),
        (error: unknown) => [error, error],
      );
      return { trusted: candidates.map(({ current }) => performance.now() < (current()?.trustedUntil ?? 0)), failures };
    },
    close(): void {
      for (const { current, detach } of candidates) {
        const mine = current();
        if (mine) detach(mine);
      }
    },
  };
}

/** Prepares replicas of the primary; they are connected to with the first check, and asked for nothing before it. */
export function createReplica(options: { urls: readonly string[]; primary: Knex; metrics: Metrics; logger: Logger }): Replica {
  const { urls, primary, metrics, logger } = options;
  const candidates = createCandidates(urls, primary);
  const tell = createTelling(logger);
  const choose = createChoice();
  let chosen = 0;
  let closed = false;

  const askPrimary = (why: 'untrusted' | 'late' | 'missing' | 'failed'): null => {
    metrics.replicaLookUps.count(why);
    return null;
  };

  return {
    async lookUp<Row extends QueryResultRow>(query: NamedQuery) {
      const { current, detach } = candidates.at(chosen);
      const mine = current();
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
        detach(mine);
        return askPrimary('failed');
      }
    },
    async check() {
      if (closed) return;
      const { trusted, failures } = await candidates.check();
      if (closed) return candidates.close();
      const before = chosen;
      chosen = choose(trusted, performance.now());
      if (chosen !== before) logger.warn({ event: 'replica.changed' }, 'another read replica is used');
      tell(trusted[chosen] === true, failures[chosen]);
      const until = candidates.at(chosen).current()?.trustedUntil ?? 0;
      metrics.replicaBehind.set({ used_for: 'look_ups' }, until === 0 ? Infinity : (performance.now() - until + trustMs) / 1000);
    },
    async close() {
      closed = true;
      candidates.close();
    },
  };
}

/** Checks the replicas four times a second. */
export const startReplicaChecks = (replica: Replica, logger: Logger): Loop =>
  startLoop({
    name: 'replica',
    pauseMs,
    logger,
    async pass() {
      await replica.check();
      return 'done';
    },
  });
