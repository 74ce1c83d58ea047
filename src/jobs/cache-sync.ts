import { recentCacheChanges } from '../db/tables/cache_changes.js';
import type { Deps } from '../domain/context.js';

const pauseMs = 400;
/** A look goes 40 s back, and a change may have waited 30 s for its commit: within this time of each other two looks miss nothing between them. */
const unbrokenMs = 10_000;

/** For so long whoever is being answered when an environment changes may go on noting, in milliseconds. A held one takes writes for 1.5 s. */
const answeredMs = 250;

/** Tells the cache what changed: from notifications at once, and from the change rows for those that were missed. */
export type CacheSync = {
  /** Takes the payload of a `cache` notification: `<environment id> <table>`, and the key where one record changed. */
  notified(payload: string): void;
  /** Reads the change rows once and drops what they name; the loop calls it. @throws what the database throws */
  sync(): Promise<void>;
  close(): Promise<void>;
};

/**
 * Starts the loop. As long as it can't look, the cache trusts nothing older than a second.
 * @param onEnvironment is told a moment after an environment changed: it may be held, and what is noted of it in memory can't be written much longer
 */
export function startCacheSync(
  deps: Pick<Deps, 'cache' | 'db' | 'logger' | 'clock'>,
  onEnvironment: () => void = () => undefined,
): CacheSync {
  let closed = false;
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> = Promise.resolve();
  let seen = new Set<string>();
  let lookedAt: number | null = null;

  const drop = (environment_id: string, kind: string, key: string | undefined) => {
    deps.cache.invalidate(environment_id, kind, key);
    const later = () => {
      if (!closed) onEnvironment();
    };
    if (kind === 'environments') setTimeout(later, answeredMs).unref();
  };

  const sync = async () => {
    const started = deps.clock.elapsed();
    try {
      const changes = await recentCacheChanges(deps.db.knex);
      // Each read overlaps the one before, because a transaction may commit a row with an earlier timestamp; every row is handled once.
      const fresh = changes.filter((change) => !seen.has(change.id));
      // After a suspension, or when the database was away, changes may have come and gone unseen.
      if (lookedAt !== null && started - lookedAt > unbrokenMs) deps.cache.clear();
      lookedAt = started;
      for (const { environment_id, kind, key } of fresh) drop(environment_id, kind, key ?? undefined);
      seen = new Set(changes.map((change) => change.id));
      deps.cache.synced(started);
    } catch (error) {
      if (!closed) deps.logger.warn({ event: 'cache.unsynced', err: error }, 'the cache could not be brought up to date');
    }
  };

  const loop = () => {
    if (closed) return;
    running = sync().finally(() => {
      if (!closed) timer = setTimeout(loop, pauseMs);
    });
  };
  loop();

  return {
    notified(payload) {
      const [environment_id = '', kind = '', key] = payload.split(' ');
      drop(environment_id, kind, key);
    },
    sync,
    async close() {
      closed = true;
      if (timer) clearTimeout(timer);
      await running;
    },
  };
}
