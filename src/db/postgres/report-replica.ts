import type { Knex } from 'knex';
import type { Logger } from '../../platform/log/logger.js';
import { startLoop, type Loop } from '../../platform/loop.js';
import type { Tracer } from '../../platform/spans/tracer.js';
import type { Metrics } from '../../platform/metrics/metrics.js';
import { createKnex } from '../connection/knex.js';
import { runOn } from '../connection/statements/named.js';
import { createWalPositions, walPositionOf, type NotedPosition, type WalPosition } from './wal-positions.js';

const pauseMs = 500;

/** `{timeline}/{lsn}`, the value of `Read-After`. */
const positionText = ({ timeline, lsn }: WalPosition): string => `${timeline}/${lsn}`;

/** What the text names; null when it names nothing. */
function positionOf(text: string): WalPosition | null {
  const [, timeline = '', lsn = ''] = /^(\d{1,9})\/([\dA-F]{1,8}\/[\dA-F]{1,8})$/i.exec(text) ?? [];
  return lsn === '' ? null : { timeline: Number(timeline), lsn };
}

function byteOf({ lsn }: WalPosition): bigint {
  const [high = '', low = ''] = lsn.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}

const isReached = (after: WalPosition | null, replayed: WalPosition): boolean =>
  after !== null && after.timeline === replayed.timeline && byteOf(after) <= byteOf(replayed);

/** A streaming standby that lists are read from, so that long ones don't burden the primary, nor stall the replica of the look-ups. */
export type ReportReplica = {
  /** Its connections while it is less than the allowed time behind and has what `after` (`Read-After`, undefined: anything) names; else null. */
  current(after: string | undefined): Knex | null;
  /** It has failed: nothing is asked of it until the next check. */
  distrust(): void;
  /** What a write answers as `Read-After`; null when the primary doesn't tell in time. Never throws. */
  writtenUpTo(): Promise<string | null>;
  /** Compares its replay position with the primary's once; the loop calls it. Never throws. */
  check(): Promise<void>;
  close(): Promise<void>;
};

type Options = {
  readonly url: string;
  readonly maxLagMs: number;
  readonly poolMax: number;
  readonly prepared: boolean;
  readonly tracer: Tracer | null;
  readonly primary: Knex;
  readonly metrics: Metrics;
  readonly logger: Logger;
};

/** Prepares the replica; it connects with the first check, and is asked for nothing before. */
export function createReportReplica({ url, maxLagMs, primary, metrics, logger, ...pool }: Options): ReportReplica {
  const knex = createKnex({ url, logger, ...pool });
  const positions = createWalPositions(primary, maxLagMs);
  let replayed: NotedPosition | null = null;
  let used: boolean | null = null;

  const isTrusted = () => replayed !== null && performance.now() < replayed.at + maxLagMs;
  const tell = (err?: unknown) => {
    const now = isTrusted();
    if (now === used) return;
    if (now) logger.info({ event: 'report_replica.used' }, 'lists are read from the report replica');
    else logger.warn({ event: 'report_replica.unused', err }, 'lists are read from the primary');
    used = now;
  };
  const answer = (result: 'served' | 'untrusted' | 'behind'): Knex | null => {
    metrics.reportReads.count(result);
    return result === 'served' ? knex : null;
  };

  return {
    current(after) {
      if (replayed === null || !isTrusted()) return answer('untrusted');
      return answer(after === undefined || isReached(positionOf(after), replayed) ? 'served' : 'behind');
    },
    distrust() {
      replayed = null;
      metrics.reportReads.count('failed');
    },
    writtenUpTo: () => walPositionOf(primary).then(positionText, () => null),
    async check() {
      try {
        await positions.note();
        replayed = (await positions.replayedBy((query) => runOn<{ reached: number }>(knex, query))) ?? replayed;
        tell();
      } catch (error) {
        replayed = null;
        tell(error);
      }
      metrics.replicaBehind.set({ used_for: 'reports' }, replayed === null ? Infinity : (performance.now() - replayed.at) / 1000);
    },
    close: () => knex.destroy(),
  };
}

/** Checks the replica twice a second. */
export const startReportChecks = (report: ReportReplica, logger: Logger): Loop =>
  startLoop({ name: 'report_replica', pauseMs, logger, pass: () => report.check().then(() => 'done' as const) });
