import { addDailyStats } from '../db/tables/daily_stats.js';
import { startFlushing, type Loop } from '../platform/loop.js';
import type { Deps } from '../domain/context.js';

const pauseMs = 20_000;

/** Adds this process's counts since the last call to the rows of today (UTC). When the statement fails, the counts are kept for the next call. @throws what the database throws */
export async function flushDailyStats(deps: Pick<Deps, 'db' | 'clock' | 'metrics'>): Promise<void> {
  const taken = deps.metrics.daily.take();
  try {
    await addDailyStats(deps.db.knex, deps.clock.now(), taken);
  } catch (error) {
    for (const { environment_id, name, label, count } of taken)
      for (let i = 0; i < count; i++) deps.metrics.daily.add(environment_id, name, label);
    throw error;
  }
}

/** Writes the counts every twenty seconds, and a last time when it stops. */
export function startDailyStats(deps: Deps): Loop {
  const { logger } = deps;
  const lost = (error: unknown) => logger.warn({ event: 'daily_stats.lost', err: error }, 'figures of the day were lost');
  return startFlushing({ name: 'daily_stats', pauseMs, logger, flush: () => flushDailyStats(deps), lost });
}
