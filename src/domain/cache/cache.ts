import type { Clock } from '../../platform/clock.js';
import type { Metrics } from '../../platform/metrics/metrics.js';
import { named } from '../../lib/named.js';

type Entry = {
  readonly value: unknown;
  /** The value for whoever awaits it: made once, not for every read. */
  promise?: Promise<unknown>;
  /** By `Clock.elapsed`, as all moments here. */
  readonly loadedAt: number;
  /** When changes may have been missed: how late it was last known to be right. It isn't trusted any more. */
  rightUntil?: number;
};

/** The entries of one kind in one environment. What is no longer in `loading` when it has been read may have changed meanwhile, and isn't remembered. */
type Group = { readonly kind: string; readonly entries: Map<string, Entry>; readonly loading: Map<string, Promise<unknown>> };

export type PublicEntry<T> = {
  readonly value: T;
  /** How long ago it was last known to be right; 0 when that was within a second. */
  readonly age_ms: number;
  /** Whether it may be trusted; otherwise it should be read again. */
  readonly fresh: boolean;
};

/**
 * What rarely changes (environments, clients, API resources, grants, keys, subscriptions), kept per process. An entry is
 * dropped when its table changes (NOTIFY, or the change rows that each process reads twice a second), and is not trusted
 * when the process hasn't been able to look for changes lately: nothing withdrawn stays in force for more than a second.
 */
export type Cache = {
  /** The cached value, or the result of `load`. Null is never cached: a miss is always loaded again. @throws what `load` throws */
  get<T>(environment_id: string, kind: string, key: string, load: () => Promise<T | null>): Promise<T | null>;
  /** The cached value if it may be used now, synchronously; else undefined. */
  recall<T>(environment_id: string, kind: string, key: string): T | undefined;
  /**
   * For public documents that others may keep for `maxAgeMs`: the remembered value even when it may not be trusted right now, at once, as long as it was
   * right so lately.
   */
  recallPublic<T>(environment_id: string, kind: string, key: string, maxAgeMs: number): PublicEntry<T> | undefined;
  /** Forgets one key, e.g. after a secret that didn't match what is remembered. */
  forget(environment_id: string, kind: string, key: string): void;
  /** Drops what is remembered of one record of a table, or (without a key) of all of them. */
  invalidate(environment_id: string, kind: string, key?: string): void;
  /** Trusts nothing that is remembered by now: changes may have been missed. */
  clear(): void;
  /** Called whenever the process has seen all changes up to `at`, by `Clock.elapsed`. */
  synced(at: number): void;
};

/** Kinds that hold values derived from other tables' rows: they go when one of those changes. */
const derivedFrom: Record<string, readonly string[]> = named({
  environments: ['hosts'],
  custom_domains: ['hosts', 'environments'],
  page_texts: ['environments'],
  // A client's `default_resource` follows its API resource: renamed with it, null without it.
  api_resources: ['client_grants', 'permissions', 'clients'],
  permissions: ['api_resources', 'client_grants'],
  // Discovery names them.
  authorization_detail_types: ['api_resources', 'environments'],
  organization_domains: ['connections'],
  organizations: ['connections'],
});

const entryLifetimeMs = 60_000;
const trustWithoutSyncMs = 1_000;

/** The groups of all environments; looked up by two maps, so that a read builds no text. */
function createGroups() {
  const environments = new Map<string, Map<string, Group>>();
  function require(environment_id: string, kind: string): Group {
    let kinds = environments.get(environment_id);
    if (!kinds) environments.set(environment_id, (kinds = new Map<string, Group>()));
    let group = kinds.get(kind);
    if (!group) kinds.set(kind, (group = { kind, entries: new Map(), loading: new Map() }));
    return group;
  }
  return {
    find: (environment_id: string, kind: string): Group | undefined => environments.get(environment_id)?.get(kind),
    require,
    /** The group, and those whose values derive from it. Which host leads to which environment is remembered for all environments together. */
    affected(environment_id: string, kind: string): Group[] {
      const derived = (derivedFrom[kind] ?? []).map((one) => require(one === 'hosts' ? '*' : environment_id, one));
      return [require(environment_id, kind), ...derived];
    },
    all: () => [...environments.values()].flatMap((kinds) => [...kinds.values()]),
  };
}

/** Keys that begin with a space name what several records make together. */
const isOf = (key: string, entry: string) => entry === key || entry.startsWith(' ');

/** @returns how many entries there were of the record, or (undefined) at all */
function drop({ entries, loading }: Group, key: string | undefined): number {
  const before = entries.size;
  for (const map of [entries, loading]) {
    if (key === undefined) map.clear();
    else for (const entry of map.keys()) if (isOf(key, entry)) map.delete(entry);
  }
  return before - entries.size;
}

/** Which entries may be trusted, by when all changes were seen last. */
function createTrust() {
  let syncedAt = Number.NEGATIVE_INFINITY;
  /** When the entry was last known to be right: with the changes that were seen last it would have been dropped, unless it was read later. */
  const rightAt = (entry: Entry): number => entry.rightUntil ?? Math.max(syncedAt, entry.loadedAt);
  const holds = (entry: Entry, now: number): boolean =>
    entry.rightUntil === undefined && now - syncedAt < trustWithoutSyncMs && now - entry.loadedAt < entryLifetimeMs;
  return {
    /** The entry if it may be trusted now. */
    entry(group: Group | undefined, key: string, now: number): Entry | undefined {
      const known = group?.entries.get(key);
      return known && holds(known, now) ? known : undefined;
    },
    /** The entry as others may still keep it, see `Cache.recallPublic`. */
    publicEntry<T>(group: Group | undefined, key: string, now: number, maxAgeMs: number): PublicEntry<T> | undefined {
      const known = group?.entries.get(key);
      const age_ms = known === undefined ? Infinity : now - rightAt(known);
      if (known === undefined || age_ms >= maxAgeMs) return undefined;
      return { value: known.value as T, age_ms: age_ms < trustWithoutSyncMs ? 0 : age_ms, fresh: holds(known, now) };
    },
    end(entry: Entry): void {
      entry.rightUntil = rightAt(entry);
    },
    synced(at: number): void {
      syncedAt = at;
    },
  };
}

/** Puts values into the groups, the oldest of the largest group making room for what is too much, and counts them all. */
function createMemory(groups: ReturnType<typeof createGroups>, maxEntries: number) {
  let size = 0;

  function remember(group: Group, key: string, entry: Entry): void {
    if (!group.entries.delete(key)) size += 1;
    group.entries.set(key, entry);
    if (size <= maxEntries) return;
    const largest = groups.all().reduce((one, other) => (other.entries.size > one.entries.size ? other : one));
    largest.entries.delete(largest.entries.keys().next().value as string);
    size -= 1;
  }

  function load<T>(group: Group, key: string, now: number, read: () => Promise<T | null>): Promise<T | null> {
    const promise: Promise<T | null> = read()
      .then((value) => {
        if (value !== null && group.loading.get(key) === promise) remember(group, key, { value, loadedAt: now });
        return value;
      })
      .finally(() => group.loading.get(key) === promise && group.loading.delete(key));
    group.loading.set(key, promise);
    return promise;
  }

  return {
    load,
    dropped(count: number): void {
      size -= count;
    },
  };
}

/** @param maxEntries the oldest entries of the largest group go beyond this number. */
export function createCache(options: { clock: Clock; metrics?: Metrics; maxEntries?: number }): Cache {
  const { clock, metrics, maxEntries = 20_000 } = options;
  const groups = createGroups();
  const memory = createMemory(groups, maxEntries);
  const trust = createTrust();

  return {
    get<T>(environment_id: string, kind: string, key: string, read: () => Promise<T | null>): Promise<T | null> {
      const group = groups.require(environment_id, kind);
      const now = clock.elapsed();
      const known = trust.entry(group, key, now);
      metrics?.cacheReads.count(kind, known ? 'hit' : 'miss');
      if (known) return (known.promise ??= Promise.resolve(known.value)) as Promise<T>;
      return (group.loading.get(key) as Promise<T | null> | undefined) ?? memory.load(group, key, now, read);
    },
    recall<T>(environment_id: string, kind: string, key: string): T | undefined {
      const known = trust.entry(groups.find(environment_id, kind), key, clock.elapsed());
      if (!known) return undefined;
      metrics?.cacheReads.count(kind, 'hit');
      return known.value as T;
    },
    recallPublic<T>(environment_id: string, kind: string, key: string, maxAgeMs: number) {
      const known = trust.publicEntry<T>(groups.find(environment_id, kind), key, clock.elapsed(), maxAgeMs);
      if (known) metrics?.cacheReads.count(kind, 'hit');
      return known;
    },
    forget(environment_id, kind, key) {
      if (groups.find(environment_id, kind)?.entries.delete(key)) memory.dropped(1);
    },
    invalidate(environment_id, kind, key) {
      for (const group of groups.affected(environment_id, kind)) memory.dropped(drop(group, group.kind === kind ? key : undefined));
    },
    clear() {
      for (const group of groups.all()) {
        group.loading.clear();
        for (const entry of group.entries.values()) trust.end(entry);
      }
    },
    synced(at) {
      trust.synced(at);
    },
  };
}
