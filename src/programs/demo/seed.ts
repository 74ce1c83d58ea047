import { defaultContext } from '../../domain/environments/bootstrap.js';
import { describeDemoData, ensureDemoData } from './data.js';
import { runProgram } from '../../process/run.js';
import { joinDatabase } from '../../process/startup.js';
import { createDeps, prepareDatabase } from '../../process/service.js';

/** Adds the demo data to the database of the service, and prints it. */
export function seed(): void {
  runProgram(async (config, logger, stops) => {
    logger.level = 'warn';
    const database = await joinDatabase(config, logger);
    stops.add(() => database.close());
    const deps = createDeps(config, logger, database);
    stops.add(() => deps.knex.destroy());
    stops.add(() => deps.fetch.close());
    await prepareDatabase(deps, database.directUrl);
    const ctx = await defaultContext(deps);
    if (ctx.environment.kind === 'production')
      throw new Error('the default environment is a production one; demo accounts have no place there');
    process.stdout.write(describeDemoData(config.baseUrl, await ensureDemoData(ctx)));
    await stops.run();
    process.exit(0);
  });
}
