import { offsetOf } from '../db/postgres/time.js';
import type { Deps } from '../domain/context.js';
import { isAdjustable } from '../platform/clock.js';
import { startLoop, type Loop } from '../platform/loop.js';

type ClockDeps = Pick<Deps, 'db' | 'clock' | 'logger'>;

const pauseMs = 30_000;

/** Differences of this size are the machines' own business: a clock that is kept in order is never moved. */
const toleratedMs = 250;

/**
 * Makes the process agree with the database's clock (specification 2.2.3). What one replica writes as valid for a minute is judged by another, and by PostgreSQL itself:
 * replicas whose machines disagree would refuse each other's codes, or take them for too long. A clock that can't be moved (a test's) stays as it is.
 */
export async function syncClock({ db: { knex }, clock, logger }: ClockDeps): Promise<void> {
  if (!isAdjustable(clock)) return;
  const { offset, uncertainty } = await offsetOf(knex);
  if (Math.abs(offset - clock.offset) <= toleratedMs + uncertainty) return;
  clock.adjust(Math.round(offset));
  logger.warn(
    { event: 'clock.differs', offset_ms: clock.offset },
    `this machine's clock differs from the database's by ${(-clock.offset / 1000).toFixed(1)} s; the database's is used`,
  );
}

/** Looks again and again, since machines drift and databases fail over. */
export function startClockSync(deps: ClockDeps): Loop {
  const pass = async () => {
    await syncClock(deps);
    return 'done' as const;
  };
  return startLoop({ name: 'clock', pauseMs, logger: deps.logger, pass });
}
