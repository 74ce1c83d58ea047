import type { Admission } from '../http/limits/admission.js';
import type { QueueState } from '../platform/metrics/queue-state.js';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createApp, createBackgroundApp } from '../app.js';
import type { Config } from '../config.js';
import { bootstrap } from '../domain/configuration/bootstrap.js';
import { createCache } from '../domain/cache/cache.js';
import { startCacheSync } from '../jobs/cache-sync.js';
import { startClockSync, syncClock } from '../jobs/clock-sync.js';
import { startDailyStats } from '../jobs/daily-stats.js';
import { startDeliveries } from './deliveries.js';
import { startEventStreams } from '../jobs/event-feed.js';
import { startClientUse } from '../domain/clients/use.js';
import { createClientUse } from '../domain/notes/client-use.js';
import type { Deps } from '../domain/context.js';
import { startSecretKeys } from '../jobs/secret-keys.js';
import { startProcessReports } from '../jobs/processes.js';
import { createDrainRate } from '../lib/drain-rate.js';
import { createMetadataDocuments } from '../platform/fetch/metadata-documents.js';
import { startPasswordLookUps } from '../domain/credentials/breached-sign-in.js';
import { createProvenPasswords } from '../domain/notes/proven-passwords.js';
import { createBreachedPasswords } from '../domain/passwords/breached-passwords.js';
import { createPasswordHasher, hashesAtOnce } from '../domain/passwords/passwords.js';
import { startRequestTraces } from '../domain/request-traces/request-traces.js';
import { createWaitingTraces } from '../domain/notes/request-traces.js';
import { createEventStreams } from '../domain/notes/event-streams.js';
import { createForwardedNotes } from '../domain/notes/forwarded.js';
import { createSecurityTrail } from '../domain/notes/security-events.js';
import { startSecurityTrail } from '../domain/audit/security-trail.js';
import { requirePrimaryKeys } from '../domain/secret-key/check.js';
import { createKnex, databaseQueues, poolState } from '../db/connection/knex.js';
import { migrate } from '../db/migrations/migrate.js';
import { listen } from '../db/postgres/notifications.js';
import { Notifier } from '../db/connection/notifier.js';
import { createReplica, startReplicaChecks } from '../db/postgres/replica.js';
import { createReportReplica, startReportChecks } from '../db/postgres/report-replica.js';
import type { Lifecycle } from '../http/health.js';
import { createServer } from '../http/server.js';
import { createSealer } from '../lib/seal.js';
import { createAdjustableClock } from '../platform/clock.js';
import { createGuardedFetch } from '../platform/fetch/fetch.js';
import { newKeyPair } from '../platform/key-pair.js';
import type { Loop } from '../platform/loop.js';
import type { Logger } from '../platform/log/logger.js';
import { createMailer } from '../platform/mailer.js';
import { createMetrics } from '../platform/metrics/metrics.js';
import { createNameLookup } from '../platform/fetch/look-up.js';
import { createCertificateReader } from '../platform/server-certificate.js';
import { createTxtLookup } from '../platform/fetch/txt-look-up.js';
import { listenOn } from './listen.js';
import { openTracer } from '../platform/spans/start.js';
import { ownRelease } from '../domain/diagnostics/own-installation.js';
import { named } from '../lib/named.js';
import { startUpkeep } from './upkeep.js';
import { makeRoom } from '../jobs/partitions.js';

export type Storage = { readonly url: string; readonly directUrl: string; readonly secretKey: string };

/** A running service. `stop` waits `SHUTDOWN_DELAY_MS` (still answering, no longer ready), finishes requests in flight (10 s at most), lets the loops finish and closes the database. */
export type RunningService = { readonly port: number; readonly deps: Deps; stop(): Promise<void> };

const drainMs = 10_000;

/** What lies at `platform/`, and what hashes: tests and programs bring their own. */
export type Overrides = Partial<Pick<Deps, 'clock' | 'metrics' | 'tracer'> & Deps['net'] & Omit<Deps['crypto'], 'sealer' | 'signing'>>;

/**
 * Everything that requests need, built once.
 * @throws {ConfigError} when BREACHED_PASSWORDS_FILE or its URL can't be used
 */
export function createDeps(config: Config, logger: Logger, storage: Storage, overrides: Overrides = {}): Deps {
  const { allowPrivateNetwork, databasePoolMax: poolMax, databasePreparedStatements: prepared, smtpUrl, emailFrom } = config;
  const { databaseReplicaUrls: urls, databaseReport } = config;
  const { clock = createAdjustableClock(), metrics = createMetrics(), tracer = null } = overrides;
  const { fetch = createGuardedFetch({ allowPrivateNetwork, tracer }) } = overrides;
  const { mailer = smtpUrl === null ? null : createMailer({ smtpUrl, emailFrom, tracer }) } = overrides;
  // Before the pool: nothing has to be closed when the configuration is refused.
  const { breachedPasswords = createBreachedPasswords(config, { clock, logger, metrics }) } = overrides;
  const notifier = new Notifier(metrics.notifications);
  const knex = createKnex({ url: storage.url, poolMax, prepared, logger, tracer, notifier });
  metrics.watchPool(() => poolState(knex));
  return {
    config,
    logger,
    clock,
    metrics,
    tracer,
    cache: createCache({ clock, metrics }),
    db: {
      knex,
      replica: urls.length === 0 ? null : createReplica({ urls, primary: knex, metrics, logger }),
      report: databaseReport && createReportReplica({ ...databaseReport, poolMax, prepared, tracer, primary: knex, metrics, logger }),
    },
    crypto: {
      sealer: createSealer(storage.secretKey, config.secretKeyPrevious),
      passwords:
        overrides.passwords ??
        createPasswordHasher({ cost: config.passwordCost, concurrency: hashesAtOnce(config.webConcurrency), tracer }),
      breachedPasswords,
      newKeyPair: overrides.newKeyPair ?? newKeyPair,
      signing: createDrainRate(),
    },
    notes: {
      clientUse: createClientUse(),
      securityTrail: createSecurityTrail(),
      requestTraces: createWaitingTraces(logger),
      provenPasswords: createProvenPasswords(),
      forwarded: createForwardedNotes(),
      notifier,
    },
    streams: createEventStreams(),
    net: {
      fetch,
      mailer,
      txtLookup: overrides.txtLookup ?? createTxtLookup(),
      certificate: overrides.certificate ?? createCertificateReader(createNameLookup(), config),
      metadataDocuments: overrides.metadataDocuments ?? createMetadataDocuments({ fetch, clock, logger }),
    },
  };
}

/** Closes what `createDeps` has opened: the spans last, which tell of the rest. */
export async function closeDeps({ net, crypto, db, tracer }: Deps): Promise<void> {
  await net.mailer?.close();
  await net.fetch.close();
  await crypto.breachedPasswords.close();
  await db.replica?.close();
  await db.report?.close();
  await db.knex.destroy();
  await tracer?.close();
}

/** The same for a process that answers requests, whose spans are made and sent as the configuration says. */
export async function createTracedDeps(config: Config, logger: Logger, storage: Storage, overrides: Overrides = {}): Promise<Deps> {
  const { metrics = createMetrics() } = overrides;
  const tracer = await openTracer(config, ownRelease(), { logger, metrics });
  return createDeps(config, logger, storage, { ...overrides, metrics, tracer });
}

/** Migrations and bootstrap: what must have happened once before any process listens. @throws {ConfigError} with another database's SECRET_KEY */
export async function prepareDatabase(deps: Deps, directUrl: string): Promise<void> {
  const knex = createKnex({ url: directUrl, poolMax: 2, logger: deps.logger });
  try {
    await migrate(knex, deps.logger);
  } finally {
    await knex.destroy();
  }
  await makeRoom(deps, directUrl);
  await prepareMigrated(deps);
}

/** The same for a database that has this release's schema. */
export async function prepareMigrated(deps: Deps): Promise<void> {
  await syncClock(deps);
  await requirePrimaryKeys(deps);
  await bootstrap(deps);
}

/** From now on every response closes its connection, so that the load balancer's kept-alive connections end while it takes this process out. */
async function runDry(server: Server, delayMs: number): Promise<void> {
  server.prependListener('request', (_req: unknown, res: ServerResponse) => {
    res.shouldKeepAlive = false;
  });
  if (delayMs > 0) await delay(delayMs);
}

/** Stops accepting and waits for the requests in flight; connections that have been answered are closed as they fall idle. */
async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    const limit = setTimeout(() => server.closeAllConnections(), drainMs);
    const idle = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(limit);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** What each process does for itself: what its requests have noted is written, and what they rely on is watched. */
const startOwnWork = (deps: Deps, upkeep: boolean): Record<string, Loop> => ({
  event_streams: startEventStreams(deps),
  client_use: startClientUse(deps),
  daily_stats: startDailyStats(deps),
  request_traces: startRequestTraces(deps),
  password_look_ups: startPasswordLookUps(deps),
  ...(deps.db.replica !== null && { replica: startReplicaChecks(deps.db.replica, deps.logger) }),
  ...(deps.db.report !== null && { report_replica: startReportChecks(deps.db.report, deps.logger) }),
  ...(upkeep && { clock: startClockSync(deps), secret_keys: startSecretKeys(deps) }),
});

/** What requests may have to wait in, for the metrics. */
const queuesOf = ({ crypto: { signing, passwords }, net, db }: Deps, admission: Admission): readonly QueueState[] => [
  admission.state(),
  { queue: 'signing', length: signing.length, wait: signing.waitMs() / 1000, refused: 0 },
  passwords.queue(),
  net.fetch.queue(),
  ...databaseQueues(db.knex),
];

/**
 * Listens, then starts the loops, whose first passes open a connection each. The database must be prepared.
 * @param options.upkeep false in tests that want what requests cause and nothing else
 */
export async function startService(deps: Deps, directUrl: string, { upkeep = true } = {}): Promise<RunningService> {
  const { config, logger } = deps;
  const lifecycle: Lifecycle = { stopping: false };
  // A worker's database was prepared by its primary. While there is none the loop goes on asking.
  await syncClock(deps).catch((error: unknown) =>
    logger.warn({ event: 'clock.unsynced', err: error }, "the database's time could not be asked"),
  );
  const service = config.backgroundWork === 'only' ? createBackgroundApp(deps, lifecycle) : createApp(deps, lifecycle);
  const server = createServer(service.app, service.admission, service.answerAhead);
  deps.metrics.watchQueues(() => queuesOf(deps, service.admission));
  await listenOn(server, config);
  // A connection that the system doesn't let us take (no file descriptor is left, say) is the caller's loss alone.
  server.on('error', (error) => logger.error({ event: 'http.not_accepted', err: error }, 'a connection could not be accepted'));
  const cacheSync = startCacheSync(deps, () => noting.forEach((loop) => loop?.wake()));
  const background = config.backgroundWork !== 'off' && { ...startDeliveries(deps), ...(upkeep && startUpkeep(deps, directUrl)) };
  const working = named({ ...startOwnWork(deps, upkeep), ...background });
  const loops = named({ ...working, ...(upkeep && { processes: startProcessReports(deps, working) }) });
  const securityTrail = startSecurityTrail(deps);
  const noting = [loops['client_use'], loops['daily_stats'], loops['request_traces'], securityTrail];
  const notifications = listen({
    url: directUrl,
    channels: config.backgroundWork === 'off' ? ['cache'] : ['cache', 'outbox'],
    logger,
    notifier: deps.notes.notifier,
    // `outbox` carries the name of the loop that has something to do.
    onNotification: (channel, payload) => (channel === 'cache' ? cacheSync.notified(payload) : loops[payload]?.wake()),
    onReconnect() {
      deps.cache.clear();
      for (const loop of Object.values(loops)) loop.wake();
    },
  });
  return {
    port: (server.address() as AddressInfo).port,
    deps,
    async stop() {
      lifecycle.stopping = true;
      deps.streams.end();
      await runDry(server, config.shutdownDelayMs);
      await close(server);
      await Promise.all([...Object.values(loops).map((loop) => loop.stop()), notifications.close(), cacheSync.close()]);
      // Last, so that what the others recorded while ending is written too.
      await securityTrail.stop();
      await service.close();
      await closeDeps(deps);
    },
  };
}
