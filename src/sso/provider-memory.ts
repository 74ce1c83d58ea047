import type { Connection } from '../domain/connections/connections.js';
import type { Clock } from '../platform/clock.js';

/** A cache of provider metadata, for an hour; one per process, bounded. */
export type ProviderMemory = {
  /** The cached value for this version of the connection, or the result of `load`; failures aren't cached. */
  get<T>(connection: Connection, clock: Clock, load: () => Promise<T>): Promise<T>;
  /** Drops the entry, so that the next login loads anew. */
  forget(connection: Connection): void;
};

const lifetimeMs = 3_600_000;
const maxEntries = 500;

/** Made once per process. */
export function createProviderMemory(): ProviderMemory {
  const entries = new Map<string, { value: Promise<unknown>; at: number }>();
  // The connection of a set-up link is made anew under the same id.
  const keyOf = ({ id, created_at, version }: Connection) => `${id} ${created_at.getTime()} ${version}`;
  return {
    get<T>(connection: Connection, clock: Clock, load: () => Promise<T>): Promise<T> {
      const key = keyOf(connection);
      const now = clock.now().getTime();
      const known = entries.get(key);
      if (known && now - known.at < lifetimeMs) return known.value as Promise<T>;
      const value = load();
      entries.delete(key);
      entries.set(key, { value, at: now });
      if (entries.size > maxEntries) entries.delete(entries.keys().next().value as string);
      value.catch(() => {
        if (entries.get(key)?.value === value) entries.delete(key);
      });
      return value;
    },
    forget(connection) {
      entries.delete(keyOf(connection));
    },
  };
}
