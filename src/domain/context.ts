import type { Knex } from 'knex';
import type { Logger } from '../platform/log/logger.js';
import type { Config } from '../config.js';
import type { Notifier } from '../db/connection/notifier.js';
import type { Replica } from '../db/postgres/replica.js';
import type { ReportReplica } from '../db/postgres/report-replica.js';
import { Conflict, Outdated, Unavailable } from '../db/connection/failures.js';
import { createScope, type Scope } from '../db/scope.js';
import { processLocksOf } from '../db/connection/knex.js';
import { inTransaction } from '../db/connection/transaction.js';
import { LockTaken, TransactionLocks } from '../db/connection/process-locks.js';
import { noDeadline, type Deadline } from '../lib/deadline.js';
import type { Sealer } from '../lib/seal.js';
import type { DrainRate } from '../lib/drain-rate.js';
import type { Clock } from '../platform/clock.js';
import type { GuardedFetch } from '../platform/fetch/fetch.js';
import type { NewKeyPair } from '../platform/key-pair.js';
import type { Mailer } from '../platform/mailer.js';
import type { Metrics } from '../platform/metrics/metrics.js';
import type { Tracer } from '../platform/spans/tracer.js';
import type { CertificateReader } from '../platform/server-certificate.js';
import type { TxtLookup } from '../platform/fetch/txt-look-up.js';
import type { Cache } from './cache/cache.js';
import type { MetadataDocuments } from '../platform/fetch/metadata-documents.js';
import type { ClientUse } from './notes/client-use.js';
import type { Environment } from './environment.js';
import type { BreachedPasswords } from './passwords/breached-passwords.js';
import type { PasswordHasher } from './passwords/passwords.js';
import type { WaitingTraces } from './notes/request-traces.js';
import type { EventStreams } from './notes/event-streams.js';
import type { ForwardedNotes } from './notes/forwarded.js';
import type { ProvenPasswords } from './notes/proven-passwords.js';
import type { SecurityTrail } from './notes/security-events.js';

/** What the whole process shares, in groups: built once by `process/service.ts` (tests build the same with fakes at `platform/` only). */
export type Deps = {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Null: no spans are made. A place for a span costs this look. */
  readonly tracer: Tracer | null;
  readonly cache: Cache;
  /** `replica`: DATABASE_REPLICA_URLS; see `lookUpScope`. `report`: DATABASE_REPORT_URL, for lists of the Management API. */
  readonly db: { readonly knex: Knex; readonly replica: Replica | null; readonly report: ReportReplica | null };
  /** What seals, hashes and makes keys. */
  readonly crypto: {
    readonly sealer: Sealer;
    readonly passwords: PasswordHasher;
    readonly breachedPasswords: BreachedPasswords;
    readonly newKeyPair: NewKeyPair;
    /** The signatures that this process is making. None is refused where it is made, for what it is for may be spent already: the door asks before. */
    readonly signing: DrainRate;
  };
  /** What requests leave in memory until it is written. */
  readonly notes: {
    readonly clientUse: ClientUse;
    readonly securityTrail: SecurityTrail;
    readonly requestTraces: WaitingTraces;
    readonly provenPasswords: ProvenPasswords;
    /** What requests say of the address that they were sent to. */
    readonly forwarded: ForwardedNotes;
    /** What has been committed, until the other processes are told. */
    readonly notifier: Notifier;
  };
  /** Streams of events that this process has open. */
  readonly streams: EventStreams;
  /** What reaches others' machines. */
  readonly net: {
    readonly fetch: GuardedFetch;
    readonly mailer: Mailer | null;
    /** Reads TXT records, which prove who owns a domain. */
    readonly txtLookup: TxtLookup;
    /** Reads the certificate that a custom domain shows. */
    readonly certificate: CertificateReader;
    readonly metadataDocuments: MetadataDocuments;
  };
};

/** Deps plus the environment that the work belongs to; what every operation takes first. */
export type Context = Deps & {
  readonly environment: Environment;
  readonly scope: Scope;
  /** Nothing that happens is stored as an event: an import that others don't want to hear of. */
  readonly silent?: boolean;
  /** In a transaction: what waits for its commit. */
  readonly committed?: (() => void)[];
  /** In a transaction: what it writes last, before its commit. */
  readonly closing?: (() => Promise<void>)[];
};

/** Calls `work` once what the context writes is committed, and never when it isn't; at once outside of a transaction. It must not throw. */
export function afterCommit(ctx: Pick<Context, 'committed'>, work: () => void): void {
  if (ctx.committed) ctx.committed.push(work);
  else work();
}

/**
 * A context of the environment, outside any transaction. `deadline` is that of the request that the work is done for. Named one by one: made for every
 * request, and copying an object of any shape takes V8 several times as long.
 */
export function createContext(deps: Deps, environment: Environment, deadline: Deadline = noDeadline): Context {
  const { config, logger, clock, metrics, tracer, cache, db, crypto, notes, streams, net } = deps;
  const scope = createScope(db.knex, environment.id, deadline);
  return { config, logger, clock, metrics, tracer, cache, db, crypto, notes, streams, net, environment, scope };
}

/** The context of an actor of an organization, outside any transaction: see `Scope.organization_id`. */
export function inOrganization(ctx: Context, organization_id: string): Context {
  return { ...ctx, scope: createScope(ctx.db.knex, ctx.environment.id, ctx.scope.deadline, undefined, organization_id) };
}

/**
 * The context for what several requests wait for together, such as what the cache loads: it must not fail because the one that came first has gone,
 * and ends by the limits of the database.
 */
const forAll = (ctx: Context): Context => (ctx.scope.deadline === noDeadline || ctx.committed ? ctx : createContext(ctx, ctx.environment));

/**
 * What the cache has of the environment, or what `load` finds with the context that it is handed: several requests may wait for it. What the transaction
 * itself has changed is loaded for it alone, since nobody knows yet whether it is committed.
 */
export function remembered<T>(ctx: Context, kind: string, key: string, load: (shared: Context) => Promise<T | null>): Promise<T | null> {
  if (ctx.scope.touched.has(kind)) return load(ctx);
  return ctx.cache.get(ctx.environment.id, kind, key, () => load(forAll(ctx)));
}

/** Before work that takes long: nothing is begun for a request whose time is up, or whose caller has gone. @throws {Unavailable} */
export function requireTime({ scope }: Pick<Context, 'scope'>): void {
  if (scope.deadline.left() <= 0) throw new Unavailable('the time of the request is up', null);
}

/**
 * The context's scope for a look-up that may see what is up to a second old: a read replica answers it if there is one. Never for what is
 * remembered in the cache, nor for what a decision to write depends on.
 */
export const lookUpScope = ({ scope, db, committed }: Context): Scope =>
  db.replica === null || committed ? scope : createScope(db.knex, scope.environment_id, scope.deadline, db.replica);

async function closed<T>(tx: Context & Required<Pick<Context, 'closing'>>, work: (tx: Context) => Promise<T>): Promise<T> {
  const done = await work(tx);
  for (const close of tx.closing) await close();
  return done;
}

/**
 * Runs `work` inside the transaction of `tx` so that it can be taken back alone: when it throws, what it wrote is gone, and the transaction goes on.
 * @throws what `work` throws
 */
export async function savepoint<T>(tx: Context, work: (inner: Context) => Promise<T>): Promise<T> {
  const committed: (() => void)[] = [];
  const done = await tx.scope.knex.transaction((knex: Knex.Transaction) =>
    closed({ ...tx, scope: { ...tx.scope, knex, events: [] }, committed, closing: [] }, work),
  );
  tx.committed?.push(...committed);
  return done;
}

const maxTries = 4;

/**
 * Runs `work` in one transaction and hands it a context of the same type whose scope holds the transaction. Hashing,
 * signing and HTTP don't belong inside; a refusal that must leave a trace is returned from `work` and thrown by the caller
 * after commit. A transaction that lost against another one, or met an outdated plan, is tried again as long as the request has time; one whose time is up
 * is rolled back. One that has to wait for another of this process (`holdLock`) gives its connection back, and begins anew when it has been handed the lock.
 * @throws what `work` throws; {DatabaseFailure}, of which only {Ambiguous} leaves open whether it was committed
 */
export async function transaction<T>(ctx: Context, work: (tx: Context) => Promise<T>): Promise<T> {
  const { knex, deadline } = ctx.scope;
  if (knex.isTransaction) return work(ctx);
  const locks = new TransactionLocks(processLocksOf(ctx.db.knex));
  try {
    for (let attempt = 1; ; attempt++) {
      const outcome = await attemptOnce(ctx, locks, work);
      if ('result' in outcome) return outcome.result;
      const { cause } = outcome;
      if (cause instanceof LockTaken) {
        await locks.wait(deadline);
        requireTime(ctx);
        attempt -= 1;
        continue;
      }
      const again = cause instanceof Conflict || cause instanceof Outdated;
      if (!again || attempt >= maxTries || deadline.left() <= 0) throw cause;
    }
  } finally {
    locks.end();
  }
}

/** One transaction: what `work` answered, once that is committed, or why it was rolled back. */
async function attemptOnce<T>(
  ctx: Context,
  locks: TransactionLocks,
  work: (tx: Context) => Promise<T>,
): Promise<{ readonly result: T } | { readonly cause: unknown }> {
  const { knex, environment_id, organization_id, deadline } = ctx.scope;
  const touched = new Set<string>();
  const committed: (() => void)[] = [];
  try {
    const result = await inTransaction(knex, async (trx) => {
      const scope: Scope = { environment_id, organization_id, knex: trx, touched, deadline, locks, events: [] };
      const done = await closed({ ...ctx, scope, committed, closing: [] }, work);
      requireTime(ctx);
      return done;
    });
    for (const done of committed) done();
    return { result };
  } catch (cause) {
    return { cause };
  }
}
