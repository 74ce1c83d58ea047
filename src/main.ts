import { ConfigError, readConfig, type Config } from './config.js';
import { EmbeddedPostgresError, startEmbeddedPostgres } from './db/embedded-postgres.js';
import { createLogger, type Logger } from './platform/logger.js';
import { loadSecretKey } from './secret-key.js';
import { createDeps, prepareDatabase, startService, type Storage } from './service.js';

/** sysexits: EX_CONFIG. */
const badConfiguration = 78;

type Database = Storage & { close(): Promise<void> };

async function openDatabase(config: Config, logger: Logger): Promise<Database> {
  if (config.databaseUrl !== null && config.secretKey !== null) {
    return { url: config.databaseUrl, directUrl: config.databaseDirectUrl ?? config.databaseUrl, secretKey: config.secretKey, close: async () => undefined };
  }
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
  const secretKey = config.secretKey ?? (await loadSecretKey(config.dataDir));
  return { url: postgres.url, directUrl: postgres.url, secretKey, close: () => postgres.stop() };
}

/** Calls `stop` at the first signal; a second one more than a second later (Ctrl-C under npm arrives twice) ends at once. */
function onSignals(logger: Logger, stop: () => Promise<void>): void {
  let since: number | null = null;
  const handle = (signal: NodeJS.Signals) => {
    if (since !== null) {
      if (performance.now() - since > 1000) process.exit(1);
      return;
    }
    since = performance.now();
    logger.info({ signal }, 'stopping');
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.fatal({ err: error }, 'stop.failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}

/** What has been started, to be stopped in reverse. */
const stops: (() => Promise<void>)[] = [];

async function stopAll(): Promise<void> {
  for (let stop = stops.pop(); stop; stop = stops.pop()) await stop();
}

async function main(): Promise<void> {
  const config = readConfig();
  const logger = createLogger(config);
  onSignals(logger, async () => {
    await stopAll();
  });
  const database = await openDatabase(config, logger);
  stops.push(() => database.close());
  const deps = createDeps(config, logger, database);
  await prepareDatabase(deps, database.directUrl);
  const service = await startService(deps, database.directUrl);
  stops.push(() => service.stop());
  logger.info({ base_url: config.baseUrl, port: service.port }, `ready at ${config.baseUrl}`);
}

main().catch(async (error: unknown) => {
  const known = error instanceof ConfigError || error instanceof EmbeddedPostgresError;
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(known ? `${error.message}\n` : `the service could not start: ${cause}\n`);
  await stopAll().catch(() => undefined);
  process.exit(error instanceof ConfigError ? badConfiguration : 1);
});
