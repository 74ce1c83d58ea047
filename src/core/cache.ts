import type { Clock } from '../platform/clock.js';
import type { Metrics } from '../platform/metrics.js';

type Entry = { value: unknown; loadedAt: number };

/**
 * What rarely changes (environments, clients, API resources, grants, keys, subscriptions), kept per process. An entry is
 * dropped when its table changes (NOTIFY, or the change rows that each process reads twice a second), and is not trusted
 * when the process hasn't been able to look for changes lately: nothing withdrawn stays in force for more than a second.
 */
export type Cache = {
  /** The remembered value, or what `load` finds. Null is never remembered: a miss is always read again. */
  get<T>(environment_id: string, kind: string, key: string, load: () => Promise<T | null>): Promise<T | null>;
  /** Forgets one key, e.g. after a secret that didn't match what is remembered. */
  forget(environment_id: string, kind: string, key: string): void;
  /** Forgets a kind of one environment. */
  invalidate(environment_id: string, kind: string): void;
  clear(): void;
  /** Called whenever the process has seen all changes up to `at`. */
  synced(at: Date): void;
};

/** Kinds that hold values derived from other tables' rows: they go when one of those changes. */
const derivedFrom: Record<string, readonly string[]> = {
  environments: ['hosts'],
  custom_domains: ['hosts', 'environments'],
  api_resources: ['client_grants', 'permissions'],
  permissions: ['api_resources', 'client_grants'],
};

const entryLifetimeMs = 60_000;
const trustWithoutSyncMs = 1_000;

/** @param maxEntries the oldest entries go beyond this number. */
export function createCache(options: { clock: Clock; metrics?: Metrics; maxEntries?: number }): Cache {
  const { clock, metrics, maxEntries = 20_000 } = options;
  const entries = new Map<string, Entry>();
  const loading = new Map<string, Promise<unknown>>();
  const generations = new Map<string, number>();
  let epoch = 0;
  let syncedAt = Number.NEGATIVE_INFINITY;

  const generation = (group: string) => `${epoch}.${generations.get(group) ?? 0}`;
  const groupOf = (environment_id: string, kind: string) => `${environment_id} ${kind}`;

  const drop = (environment_id: string, kind: string) => {
    const group = groupOf(environment_id, kind);
    generations.set(group, (generations.get(group) ?? 0) + 1);
    const prefix = `${group} `;
    for (const name of entries.keys()) if (name.startsWith(prefix)) entries.delete(name);
  };

  return {
    async get<T>(environment_id: string, kind: string, key: string, load: () => Promise<T | null>): Promise<T | null> {
      const group = groupOf(environment_id, kind);
      const name = `${group} ${key}`;
      const now = clock.now().getTime();
      const known = entries.get(name);
      const trusted = now - syncedAt < trustWithoutSyncMs;
      if (known && trusted && now - known.loadedAt < entryLifetimeMs) {
        metrics?.cacheReads.inc({ kind, result: 'hit' });
        return known.value as T;
      }
      metrics?.cacheReads.inc({ kind, result: 'miss' });
      const started = generation(group);
      const flight = `${name} ${started}`;
      const pending = loading.get(flight) as Promise<T | null> | undefined;
      if (pending) return pending;
      const promise = load()
        .then((value) => {
          if (value !== null && generation(group) === started) {
            entries.delete(name);
            entries.set(name, { value, loadedAt: now });
            if (entries.size > maxEntries) entries.delete(entries.keys().next().value as string);
          }
          return value;
        })
        .finally(() => loading.delete(flight));
      loading.set(flight, promise);
      return promise;
    },
    forget(environment_id, kind, key) {
      entries.delete(`${groupOf(environment_id, kind)} ${key}`);
    },
    invalidate(environment_id, kind) {
      drop(environment_id, kind);
      for (const derived of derivedFrom[kind] ?? []) {
        // Which host leads to which environment is remembered for all environments together.
        drop(derived === 'hosts' ? '*' : environment_id, derived);
      }
    },
    clear() {
      epoch += 1;
      entries.clear();
    },
    synced(at) {
      syncedAt = at.getTime();
    },
  };
}
