import { noteClientUse } from '../../db/tables/clients.js';
import { startFlushing, type Loop } from '../../platform/loop.js';
import type { Deps } from '../context.js';

/** Writes what was collected, in one statement; kept for the next call when that fails. @throws what the database throws */
export async function flushClientUse(deps: Pick<Deps, 'db' | 'notes'>): Promise<void> {
  const taken = deps.notes.clientUse.take();
  try {
    await noteClientUse(deps.db.knex, taken);
  } catch (error) {
    for (const { environment_id, client_id, at } of taken) deps.notes.clientUse.note(environment_id, client_id, at);
    throw error;
  }
}

const pauseMs = 30_000;

/** Writes every half minute, and a last time when it stops. */
export function startClientUse(deps: Deps): Loop {
  const { logger } = deps;
  const lost = (error: unknown) => logger.warn({ event: 'client_use.lost', err: error }, 'times of last use of clients were lost');
  return startFlushing({ name: 'client_use', pauseMs, logger, flush: () => flushClientUse(deps), lost });
}
