import { defaultContext } from '../../domain/configuration/bootstrap.js';
import { describeDemoData, ensureDemoData } from './data.js';
import { runProgram } from '../../process/run.js';
import { joinDatabase } from '../../process/startup.js';
import { closeDeps, createDeps, prepareDatabase } from '../../process/service.js';

/** Adds the demo data to the database of the service, and prints it. */
export function seed(): void {
  runProgram(async (config, logger, stops) => {
    logger.level = 'warn';
    const database = await joinDatabase(config, logger);
    stops.add(() => database.close());
    const deps = createDeps(config, logger, database);
    stops.add(() => closeDeps(deps));
    await prepareDatabase(deps, database.directUrl);
    const ctx = await defaultContext(deps);
    process.stdout.write(describeDemoData(config.baseUrl, await ensureDemoData(ctx)));
    await stops.run();
    process.exit(0);
  });
}
