import { rm, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.js';
import type { Context, Deps } from '../domain/context.js';
import { defaultContext } from '../domain/configuration/bootstrap.js';
import { exposureWarnings } from '../domain/environments/exposure.js';
import { needsSetup, setupUrl } from '../domain/users/setup.js';
import { hasMailbox } from '../http/auth/mailbox-access.js';
import { clusterExists } from '../db/postgres/embedded/cluster.js';
import { EmbeddedPostgresError, startEmbeddedPostgres } from '../db/postgres/embedded/embedded-postgres.js';
import { requireDataDirectory } from '../db/postgres/embedded/inspect-data-directory.js';
import { answers } from '../db/postgres/reachable.js';
import { listEnvironments } from '../db/tables/environments.js';
import type { Logger } from '../platform/log/logger.js';
import { requireSpanPackages } from '../platform/spans/start.js';
import { requireFreeAddress } from './listen.js';
import { loadSecretKey } from './secret-key.js';
import { createTracedDeps, prepareDatabase, startService, type Storage } from './service.js';

/** The database of a process; `close` ends the embedded one. */
export type Database = Storage & { close(): Promise<void> };

/** Holds the address of the embedded database while the service runs, so that tools beside it (`npm run seed`) find it. */
export const addressFile = (config: Config) => join(config.dataDir, 'database.url');

/** The database of DATABASE_URL, or an embedded PostgreSQL of our own. */
export async function openDatabase(config: Config, logger: Logger): Promise<Database> {
  if (config.databaseUrl !== null && config.secretKey !== null) {
    return {
      url: config.databaseUrl,
      directUrl: config.databaseDirectUrl ?? config.databaseUrl,
      secretKey: config.secretKey,
      close: async () => undefined,
    };
  }
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
  const secretKey = config.secretKey ?? (await loadSecretKey(config.dataDir));
  await writeFile(addressFile(config), postgres.url, { mode: 0o600 });
  return {
    url: postgres.url,
    directUrl: postgres.url,
    secretKey,
    async close() {
      await rm(addressFile(config), { force: true });
      await postgres.stop();
    },
  };
}

/** The database of a service that runs on this DATA_DIR already, else one that is opened now. For commands that run beside the service. */
export async function joinDatabase(config: Config, logger: Logger): Promise<Database> {
  if (config.databaseUrl === null) {
    await requireDataDirectory(config.dataDir);
    const url = await readFile(addressFile(config), 'utf8').catch(() => null);
    if (url !== null && (await answers(url))) {
      return { url, directUrl: url, secretKey: config.secretKey ?? (await loadSecretKey(config.dataDir)), close: async () => undefined };
    }
  }
  return openDatabase(config, logger);
}

/**
 * The same for commands that only look at a database, which an embedded one has to be made for by a start of the service before.
 * @throws {EmbeddedPostgresError} when there is none, or its directory can't be used
 */
export async function joinExistingDatabase(config: Config, logger: Logger): Promise<Database> {
  if (config.databaseUrl !== null) return joinDatabase(config, logger);
  await requireDataDirectory(config.dataDir);
  if (!(await clusterExists(join(config.dataDir, 'postgres'))))
    throw new EmbeddedPostgresError(
      `there is no database in DATA_DIR ${config.dataDir}: name the directory of the service there, or set DATABASE_URL.`,
    );
  return joinDatabase(config, logger);
}

/** What has been started, to be stopped in reverse. */
export type ShutdownHooks = { add(stop: () => Promise<void>): void; run(): Promise<void> };

export function createStops(): ShutdownHooks {
  const stops: (() => Promise<void>)[] = [];
  return {
    add: (stop) => void stops.push(stop),
    async run() {
      for (let stop = stops.pop(); stop; stop = stops.pop()) await stop();
    },
  };
}

type Prepared = { readonly deps: Deps; readonly directUrl: string };

/** Start-up in its order (specification 1.2.1): database, migrations, bootstrap, listen, loops; then the ready line. */
export async function startAll(config: Config, logger: Logger, stops: ShutdownHooks): Promise<void> {
  await serve(await prepare(config, logger, stops), stops);
}

/** The first half: all that has to be there before the service listens. */
export async function prepare(config: Config, logger: Logger, stops: ShutdownHooks): Promise<Prepared> {
  requireSpanPackages(config);
  await requireFreeAddress(config);
  const database = await openDatabase(config, logger);
  stops.add(() => database.close());
  const deps = await createTracedDeps(config, logger, database);
  await prepareDatabase(deps, database.directUrl);
  return { deps, directUrl: database.directUrl };
}

/** The second half. */
export async function serve({ deps, directUrl }: Prepared, stops: ShutdownHooks): Promise<void> {
  const service = await startService(deps, directUrl);
  stops.add(() => service.stop());
  await announce(deps, service.port);
}

/** The addresses that somebody at a terminal goes on with. */
function readyText(ctx: Context, setup: string | null): string {
  const { baseUrl } = ctx.config;
  const links = [
    ['Dashboard', `${baseUrl}/dashboard`],
    ...(setup === null ? [] : [['Set up', `${setup}\n                 makes the first administrator, within an hour`]]),
    ...(hasMailbox(ctx) ? [['Mailbox', `${baseUrl}/dev/mailbox`]] : []),
    ['Documentation', `${baseUrl}/docs`],
  ];
  return `\n  Ready at ${baseUrl}\n\n${links.map(([name = '', link]) => `  ${name.padEnd(13)}  ${link}\n`).join('')}`;
}

/** Prints the address of the service and, while there is no administrator, the one-time link that makes the first one. */
export async function announce(deps: Deps, port: number): Promise<void> {
  const { config, logger } = deps;
  const ctx = await defaultContext(deps);
  const setup = (await needsSetup(ctx)) ? setupUrl(ctx) : null;
  for (const { event, message } of exposureWarnings(config, await listEnvironments(deps.db.knex))) logger.warn({ event }, message);
  const ready = { event: 'service.ready', base_url: config.baseUrl, port } as const;
  if (config.logFormat === 'pretty') {
    logger[setup === null ? 'info' : 'warn'](ready, readyText(ctx, setup));
    return;
  }
  if (setup !== null)
    logger.warn({ event: 'service.no_administrator' }, `there is no administrator yet; make the first one within an hour at ${setup}`);
  logger.info(ready, `ready at ${config.baseUrl}`);
}

/** Calls `stop` at the first signal; a second one more than a second later (Ctrl-C under npm arrives twice) ends at once. */
export function onSignals(logger: Logger, stop: () => Promise<void>): void {
  let since: number | null = null;
  const handle = (signal: NodeJS.Signals) => {
    if (since !== null) {
      if (performance.now() - since > 1000) process.exit(1);
      return;
    }
    since = performance.now();
    logger.info({ event: 'service.stopping', signal }, 'stopping');
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.fatal({ event: 'stop.failed', err: error }, 'the service could not stop in order');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}
