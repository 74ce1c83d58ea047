import { ConfigError, readConfig, type Config } from '../config.js';
import { BackupRefusal } from '../db/backup/refusal.js';
import { MissingExtension, OutdatedSchema } from '../db/migrations/baseline.js';
import { DataDirectoryError, EmbeddedPostgresError } from '../db/postgres/embedded/embedded-postgres.js';
import { createLogger, type Logger } from '../platform/log/logger.js';
import { AddressUnavailableError } from './listen.js';
import { createStops, onSignals, type ShutdownHooks } from './startup.js';

/** sysexits: EX_CONFIG. */
const badConfiguration = 78;

/**
 * Runs a program of this project: reads the configuration, hands it over, stops in order at a signal, and says in plain words why it
 * couldn't start. All configuration problems are told at once (exit 78, as for a DATA_DIR that can't be used).
 */
export function runProgram(program: (config: Config, logger: Logger, stops: ShutdownHooks) => Promise<void>): void {
  const stops = createStops();
  const start = async () => {
    const config = readConfig();
    const logger = createLogger(config);
    onSignals(logger, () => stops.run());
    await program(config, logger, stops);
  };
  start().catch(async (error: unknown) => {
    const known = [ConfigError, AddressUnavailableError, EmbeddedPostgresError, BackupRefusal, MissingExtension, OutdatedSchema].some(
      (kind) => error instanceof kind,
    );
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(known ? `${(error as Error).message}\n` : `the service could not start: ${cause}\n`);
    await stops.run().catch(() => undefined);
    process.exit(error instanceof ConfigError || error instanceof DataDirectoryError ? badConfiguration : 1);
  });
}
