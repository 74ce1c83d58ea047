import type { Knex } from 'knex';
import type { Logger } from 'pino';
import type { Config } from '../config.js';
import type { Replica } from '../db/postgres/replica.js';
import { createScope, type Scope } from '../db/scope.js';
import type { Sealer } from '../lib/seal.js';
import type { Clock } from '../platform/clock.js';
import type { GuardedFetch } from '../platform/fetch/fetch.js';
import type { NewKeyPair } from '../platform/key-pair.js';
import type { Mailer } from '../platform/mailer.js';
import type { Metrics } from '../platform/metrics/metrics.js';
import type { TxtLookup } from '../platform/fetch/txt-look-up.js';
import type { Cache } from './cache/cache.js';
import type { ClientUse } from './clients/use-notes.js';
import type { Environment } from './environments/environment.js';
import type { PasswordHasher } from './passwords/passwords.js';
import type { SecurityTrail } from './audit/security-notes.js';

/** What the whole process shares, built once in `main.ts` (tests build the same with fakes at `platform/` only). */
export type Deps = {
  readonly config: Config;
  readonly knex: Knex;
  /** DATABASE_REPLICA_URL; see `lookUpScope`. */
  readonly replica: Replica | null;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly mailer: Mailer | null;
  readonly fetch: GuardedFetch;
  /** Reads TXT records, which prove who owns a domain. */
  readonly txtLookup: TxtLookup;
  readonly metrics: Metrics;
  readonly cache: Cache;
  readonly sealer: Sealer;
  readonly passwords: PasswordHasher;
  readonly newKeyPair: NewKeyPair;
  readonly clientUse: ClientUse;
  readonly securityTrail: SecurityTrail;
};

/** Deps plus the environment that the work belongs to; what every operation takes first. */
export type Context = Deps & {
  readonly environment: Environment;
  readonly scope: Scope;
  /** In a transaction: what waits for its commit. */
  readonly committed?: (() => void)[];
};

/** Calls `work` once what the context writes is committed, and never when it isn't; at once outside of a transaction. It must not throw. */
export function afterCommit(ctx: Pick<Context, 'committed'>, work: () => void): void {
  if (ctx.committed) ctx.committed.push(work);
  else work();
}

/** A context of the environment, outside any transaction. */
export function createContext(deps: Deps, environment: Environment): Context {
  return { ...deps, environment, scope: createScope(deps.knex, environment.id) };
}

/**
 * The context's scope for a look-up that may see what is up to a second old: a read replica answers it if there is one. Never for what is
 * remembered in the cache, nor for what a decision to write depends on.
 */
export function lookUpScope({ scope, replica }: Context): Scope {
  return replica === null ? scope : { ...scope, replica };
}

/** Postgres' words for "try that again": serialization failure and deadlock. */
const retryable = new Set(['40001', '40P01']);
const maxTries = 4;

/**
 * Runs `work` in one transaction and hands it a context of the same type whose scope holds the transaction. Hashing,
 * signing and HTTP don't belong inside; a refusal that must leave a trace is returned from `work` and thrown by the caller
 * after commit. A deadlock or serialization failure is tried again.
 */
export async function transaction<T>(ctx: Context, work: (tx: Context) => Promise<T>): Promise<T> {
  if ('isTransaction' in ctx.scope.knex && ctx.scope.knex.isTransaction) return work(ctx);
  for (let attempt = 1; ; attempt++) {
    const touched = new Set<string>();
    const committed: (() => void)[] = [];
    try {
      const result = await ctx.scope.knex.transaction((trx: Knex.Transaction) =>
        work({ ...ctx, scope: { environment_id: ctx.scope.environment_id, knex: trx, touched }, committed }),
      );
      for (const kind of touched) ctx.cache.invalidate(ctx.environment.id, kind);
      for (const done of committed) done();
      return result;
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (attempt >= maxTries || typeof code !== 'string' || !retryable.has(code)) throw error;
    }
  }
}
