import { createSealer } from '../../lib/seal.js';
import { createAdjustableClock } from '../../platform/clock.js';
import { takeBackup } from '../../process/backup/take.js';
import { runProgram } from '../../process/run.js';
import { joinExistingDatabase } from '../../process/startup.js';

/** Writes a backup of the whole database to a new file. */
export function backUp(path: string): void {
  runProgram(async (config, logger, stops) => {
    logger.level = 'warn';
    const database = await joinExistingDatabase(config, logger);
    stops.add(() => database.close());
    const sealer = createSealer(database.secretKey, config.secretKeyPrevious);
    const { tables, created_at, key_id } = await takeBackup(
      { url: database.directUrl, path },
      { config, sealer, clock: createAdjustableClock() },
    );
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    process.stdout.write(
      `${path}: ${rows} rows of ${tables.length} tables, as of ${created_at}\n` +
        `It opens with the SECRET_KEY of the id ${key_id} alone: keep that elsewhere. Try it: npm run -s restore -- --drill ${path}\n`,
    );
    await stops.run();
    process.exit(0);
  });
}
