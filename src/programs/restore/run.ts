import type { Config } from '../../config.js';
import { BackupRefusal } from '../../db/backup/refusal.js';
import { requireDataDirectory } from '../../db/postgres/embedded/inspect-data-directory.js';
import { createSealer } from '../../lib/seal.js';
import type { Logger } from '../../platform/log/logger.js';
import { checkBackup } from '../../process/backup/contents.js';
import { drill } from '../../process/backup/drill.js';
import type { Manifest } from '../../process/backup/manifest.js';
import { restoreBackup } from '../../process/backup/restore.js';
import { runProgram } from '../../process/run.js';
import { readSecretKey } from '../../process/secret-key.js';
import { closeDeps, createDeps } from '../../process/service.js';
import { joinDatabase, type ShutdownHooks } from '../../process/startup.js';

type Given = {
  /** Of the backup. */
  readonly path: string;
  readonly keepSessions: boolean;
  /** On a database of its own, which goes afterwards. */
  readonly onlyTry: boolean;
};

/** The keys to open the backup with. None is made here: it would be the wrong one. */
async function keyOf({ secretKey, dataDir }: Config): Promise<string> {
  if (secretKey !== null) return secretKey;
  await requireDataDirectory(dataDir);
  const key = await readSecretKey(dataDir);
  if (key !== null) return key;
  throw new BackupRefusal(
    `there is no key to open the backup with: set SECRET_KEY to that of the backup, or put its secret.key into DATA_DIR ${dataDir}.`,
  );
}

async function restoreInto(
  { path, keepSessions }: Given,
  config: Config,
  logger: Logger,
  stops: ShutdownHooks,
  manifest: Manifest,
): Promise<void> {
  const database = await joinDatabase(config, logger);
  stops.add(() => database.close());
  const deps = createDeps(config, logger, database);
  stops.add(() => closeDeps(deps));
  await restoreBackup(deps, { url: database.directUrl, path, manifest, keepSessions });
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
  const signedIn = keepSessions
    ? 'Sessions and tokens are as they were: those too that were revoked since.'
    : 'Nobody is signed in: sessions, tokens and codes are revoked, and new keys sign.';
  process.stdout.write(
    `${rows} rows of ${manifest.tables.length} tables are back, as of ${manifest.created_at}. ${signedIn} Start the service.\n`,
  );
}

/** Loads a backup into an empty database, or only tries it. */
export function restore(given: Given): void {
  const { path, onlyTry } = given;
  runProgram(async (config, logger, stops) => {
    logger.level = 'warn';
    const secretKey = await keyOf(config);
    const manifest = await checkBackup(path, createSealer(secretKey, config.secretKeyPrevious));
    if (onlyTry) await drill({ config, logger, stops, secretKey, path, manifest, say: (line) => void process.stdout.write(`${line}\n`) });
    else await restoreInto(given, config, logger, stops, manifest);
    await stops.run();
    process.exit(0);
  });
}
