import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspectConfig, type Config } from '../config.js';
import { variablesOfProcess } from '../lib/process-variables.js';
import { createKnex } from '../db/connection/knex.js';
import { clusterExists } from '../db/postgres/embedded/cluster.js';
import { startEmbeddedPostgres } from '../db/postgres/embedded/embedded-postgres.js';
import { findDataDirectoryProblem, readInDataDirectory } from '../db/postgres/embedded/inspect-data-directory.js';
import { answers } from '../db/postgres/reachable.js';
import type { ClosedDatabase, Installation, OpenDatabase } from '../domain/diagnostics/installation.js';
import { ownSurroundings } from '../domain/diagnostics/own-installation.js';
import { createPasswordHasher } from '../domain/passwords/passwords.js';
import { createSealer } from '../lib/seal.js';
import { fixes, probes } from '../lib/remedies.js';
import { silentLogger } from '../platform/log/logger.js';
import { createAdjustableClock } from '../platform/clock.js';
import { createGuardedFetch } from '../platform/fetch/fetch.js';
import { addressFile, createStops, type ShutdownHooks } from './startup.js';

const poolMax = 4;

/** The key of the embedded database as it lies there; null without one. Unlike a start, this makes none. */
async function keyIn({ secretKey, dataDir }: Config): Promise<string | null> {
  if (secretKey !== null) return secretKey;
  const text = await readInDataDirectory(dataDir, 'secret.key');
  return text === null || text.trim() === '' ? null : text.trim();
}

type Address = { readonly url: string } | ClosedDatabase;

/** The embedded database: the one that the running service looks after, else started for the time of the examination. It is never made. */
async function embeddedAddress(config: Config, command: Installation['command'], stops: ShutdownHooks): Promise<Address> {
  const { dataDir } = config;
  const again = probes.checks(command, 'config');
  const closed = await findDataDirectoryProblem(dataDir);
  if (closed) return { fault: 'directory', finding: 'The embedded database can’t be opened: config says why.', look: again };
  const url = await readFile(addressFile(config), 'utf8').catch(() => null);
  if (url !== null && (await answers(url))) return { url };
  if (!(await clusterExists(join(dataDir, 'postgres'))))
    return { fault: 'absent', finding: `There is no database in ${dataDir} yet.`, fix: fixes.start() };
  try {
    const postgres = await startEmbeddedPostgres({ dataDir, logger: silentLogger });
    stops.add(() => postgres.stop());
    return { url: postgres.url };
  } catch (error) {
    const finding = `The embedded database does not start: ${(error as Error).message}`;
    return { fault: 'directory', finding, fix: fixes.variable('DATA_DIR') };
  }
}

async function openDatabase(
  config: Config,
  command: Installation['command'],
  stops: ShutdownHooks,
): Promise<OpenDatabase | ClosedDatabase> {
  const address = config.databaseUrl === null ? await embeddedAddress(config, command, stops) : { url: config.databaseUrl };
  if ('fault' in address) return address;
  const knex = createKnex({ url: address.url, poolMax, prepared: config.databasePreparedStatements });
  stops.add(() => knex.destroy());
  const key = await keyIn(config);
  return { knex, sealer: key === null ? null : createSealer(key, config.secretKeyPrevious) };
}

/**
 * The installation that the environment variables describe, whether or not it can be started, so that it can be examined from outside.
 * @returns also what closes what was opened
 */
export async function openInstallation(
  environment: Readonly<NodeJS.ProcessEnv> = variablesOfProcess(),
): Promise<{ installation: Installation; stops: ShutdownHooks }> {
  const stops = createStops();
  const { config, problems, nearby } = inspectConfig(environment);
  const surroundings = ownSurroundings();
  const fetch = createGuardedFetch({ allowPrivateNetwork: config.allowPrivateNetwork });
  stops.add(() => fetch.close());
  const unusable = problems.some(({ variables }) =>
    ['DATABASE_URL', 'DATABASE_URL_FILE', 'DATABASE_PASSWORD_FILE', 'DATA_DIR'].some((name) => variables.includes(name)),
  );
  const database: OpenDatabase | ClosedDatabase = unusable
    ? { fault: 'away', finding: 'A variable is wrong.', look: probes.checks(surroundings.command, 'config') }
    : await openDatabase(config, surroundings.command, stops);
  const installation: Installation = {
    config,
    variables: { problems, nearby },
    clock: createAdjustableClock(),
    fetch,
    passwords: createPasswordHasher({ cost: config.passwordCost }),
    database,
    ...surroundings,
  };
  return { installation, stops };
}
