import type { Admission } from '../http/limits/admission.js';
import type { QueueState } from '../platform/metrics/queue-state.js';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createApp } from '../app.js';
import type { Config } from '../config.js';
import { bootstrap } from '../domain/environments/bootstrap.js';
import { createCache } from '../domain/cache/cache.js';
import { startCacheSync } from '../jobs/cache-sync.js';
import { startClockSync, syncClock } from '../jobs/clock-sync.js';
import { startClientUse } from '../domain/clients/use.js';
import { createClientUse } from '../domain/clients/use-notes.js';
import type { Deps } from '../domain/context.js';
import { startDailyStats } from '../jobs/daily-stats.js';
import { startProcessReports } from '../jobs/processes.js';
import { startDomainChecks } from '../jobs/domain-checks.js';
import { startJanitor, startStatistics } from '../jobs/janitor.js';
import { startUnusedClients } from '../jobs/unused-clients.js';
import { startUnusedLogos } from '../jobs/unused-logos.js';
import { signing } from '../domain/tokens/formats/jwt.js';
import { createMetadataDocuments } from '../domain/clients/metadata-documents.js';
import { createBreachedPasswords } from '../domain/passwords/breached-passwords.js';
import { createPasswordHasher } from '../domain/passwords/passwords.js';
import { startRequestTraces } from '../domain/request-traces/request-traces.js';
import { createWaitingTraces } from '../domain/request-traces/waiting-traces.js';
import { createForwardedNotes } from '../domain/diagnostics/forwarded-notes.js';
import { createSecurityTrail } from '../domain/audit/security-notes.js';
import { startSecurityTrail } from '../domain/audit/security-trail.js';
import { requirePrimaryKeys } from '../domain/secret-key/check.js';
import { startSecretKeys } from '../jobs/secret-keys.js';
import { startSigningKeyRotation } from '../jobs/key-rotation.js';
import { createKnex, databaseQueues, poolState } from '../db/connection/knex.js';
import { migrate } from '../db/migrations/migrate.js';
import { listen } from '../db/postgres/notifications.js';
import { createReplica, startReplicaChecks } from '../db/postgres/replica.js';
import type { Lifecycle } from '../http/health.js';
import { createServer } from '../http/server.js';
import { createSealer } from '../lib/seal.js';
import { startMailLoop } from '../outbox/mail/send.js';
import { startWebhookLoop } from '../outbox/webhooks/loop.js';
import { startLogStreams } from '../outbox/log-streams/loop.js';
import { startBackchannelLogout } from '../outbox/back-channel/send.js';
import { createAdjustableClock } from '../platform/clock.js';
import { createGuardedFetch } from '../platform/fetch/fetch.js';
import { newKeyPair } from '../platform/key-pair.js';
import type { Loop } from '../platform/loop.js';
import type { Logger } from '../platform/log/logger.js';
import { createMailer } from '../platform/mailer.js';
import { createMetrics } from '../platform/metrics/metrics.js';
import { createTxtLookup } from '../platform/fetch/txt-look-up.js';
import { startSpans } from '../platform/spans/start.js';
import { ownRelease } from '../domain/diagnostics/own-installation.js';
import { named } from '../lib/named.js';

/** The addresses of the database and the key that seals its secrets. */
export type Storage = { readonly url: string; readonly directUrl: string; readonly secretKey: string };

/** A running service. `stop` waits `SHUTDOWN_DELAY_MS` (still answering, no longer ready), finishes requests in flight (10 s at most), lets the loops finish and closes the database. */
export type RunningService = { readonly port: number; readonly deps: Deps; stop(): Promise<void> };

const drainMs = 10_000;

/**
 * Everything that requests need, built once. Tests hand in `overrides` for what lies at `platform/`.
 * @throws {ConfigError} when BREACHED_PASSWORDS_FILE or its URL can't be used
 */
export function createDeps(config: Config, logger: Logger, storage: Storage, overrides: Partial<Deps> = {}): Deps {
  const clock = overrides.clock ?? createAdjustableClock();
  const metrics = overrides.metrics ?? createMetrics();
  // Before the pool: nothing has to be closed when the configuration is refused.
  const breachedPasswords = overrides.breachedPasswords ?? createBreachedPasswords(config, { clock, logger, metrics });
  const { databasePoolMax: poolMax, databasePreparedStatements: prepared } = config;
  const knex = createKnex({ url: storage.url, poolMax, prepared, logger });
  metrics.watchPool(() => poolState(knex));
  const { databaseReplicaUrl } = config;
  const fetch = overrides.fetch ?? createGuardedFetch({ allowPrivateNetwork: config.allowPrivateNetwork });
  return {
    config,
    logger,
    clock,
    metrics,
    knex,
    replica: databaseReplicaUrl === null ? null : createReplica({ url: databaseReplicaUrl, primary: knex, metrics, logger }),
    mailer: config.smtpUrl === null ? null : createMailer({ smtpUrl: config.smtpUrl, emailFrom: config.emailFrom }),
    fetch,
    txtLookup: createTxtLookup(),
    cache: createCache({ clock, metrics }),
    sealer: createSealer(storage.secretKey, config.secretKeyPrevious),
    passwords: createPasswordHasher(),
    breachedPasswords,
    newKeyPair,
    clientUse: createClientUse(),
    metadataDocuments: createMetadataDocuments({ fetch, clock, logger }),
    securityTrail: createSecurityTrail(),
    requestTraces: createWaitingTraces(logger),
    forwarded: createForwardedNotes(),
    ...overrides,
  };
}

/** Migrations and bootstrap: what must have happened once before any process listens. @throws {ConfigError} with another database's SECRET_KEY */
export async function prepareDatabase(deps: Deps, directUrl: string): Promise<void> {
  const knex = createKnex({ url: directUrl, poolMax: 2, logger: deps.logger });
  try {
    await migrate(knex, deps.logger);
  } finally {
    await knex.destroy();
  }
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

/** Starts the work that goes on beside the requests. */
function startLoops(deps: Deps): Record<string, Loop> {
  return named({
    clock: startClockSync(deps),
    janitor: startJanitor(deps),
    statistics: startStatistics(deps),
    mail: startMailLoop(deps),
    webhook: startWebhookLoop(deps),
    backchannel_logout: startBackchannelLogout(deps),
    log_stream: startLogStreams(deps),
    signing_keys: startSigningKeyRotation(deps),
    secret_keys: startSecretKeys(deps),
    domain_checks: startDomainChecks(deps),
    daily_stats: startDailyStats(deps),
    client_use: startClientUse(deps),
    unused_clients: startUnusedClients(deps),
    unused_logos: startUnusedLogos(deps),
    request_traces: startRequestTraces(deps),
    ...(deps.replica !== null && { replica: startReplicaChecks(deps.replica, deps.logger) }),
  });
}

/** What requests may have to wait in, for the metrics. */
const queuesOf = (deps: Deps, admission: Admission): readonly QueueState[] => [
  admission.state(),
  { queue: 'signing', length: signing.length, wait: signing.waitMs() / 1000, refused: 0 },
  deps.passwords.queue(),
  deps.fetch.queue(),
  ...databaseQueues(deps.knex),
];

/** Listens, and starts the loops. The database must be prepared. */
export async function startService(deps: Deps, directUrl: string): Promise<RunningService> {
  const { config, logger } = deps;
  const lifecycle: Lifecycle = { stopping: false };
  const sending = await startSpans(config, ownRelease(), deps);
  // A worker's database was prepared by its primary. While there is none the loop goes on asking.
  await syncClock(deps).catch((error: unknown) =>
    logger.warn({ event: 'clock.unsynced', err: error }, "the database's time could not be asked"),
  );
  const cacheSync = startCacheSync(deps);
  const working = startLoops(deps);
  const loops = named({ ...working, processes: startProcessReports(deps, working) });
  const securityTrail = startSecurityTrail(deps);
  const notifications = listen({
    url: directUrl,
    channels: ['cache', 'outbox'],
    logger,
    // `outbox` carries the name of the loop that has something to do.
    onNotification: (channel, payload) => (channel === 'cache' ? cacheSync.notified(payload) : loops[payload]?.wake()),
    onReconnect() {
      deps.cache.clear();
      for (const loop of Object.values(loops)) loop.wake();
    },
  });
  const service = createApp(deps, lifecycle);
  const server = createServer(service.app, service.admission, service.answerAhead);
  deps.metrics.watchQueues(() => queuesOf(deps, service.admission));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.port, config.host, resolve);
  });
  // A connection that the system doesn't let us take (no file descriptor is left, say) is the caller's loss alone.
  server.on('error', (error) => logger.error({ event: 'http.not_accepted', err: error }, 'a connection could not be accepted'));
  return {
    port: (server.address() as AddressInfo).port,
    deps,
    async stop() {
      lifecycle.stopping = true;
      await runDry(server, config.shutdownDelayMs);
      await close(server);
      await Promise.all([...Object.values(loops).map((loop) => loop.stop()), notifications.close(), cacheSync.close()]);
      // Last, so that what the others recorded while ending is written too.
      await securityTrail.stop();
      await service.close();
      await deps.mailer?.close();
      await deps.fetch.close();
      await deps.breachedPasswords.close();
      await deps.replica?.close();
      await deps.knex.destroy();
      await sending.stop();
    },
  };
}
