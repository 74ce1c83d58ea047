import { defaultContext } from './core/bootstrap.js';
import { describeDemoData, ensureDemoData } from './demo-data.js';
import { run } from './run.js';
import { joinDatabase } from './runtime.js';
import { createDeps, prepareDatabase } from './composition.js';

// Works on the database of the running service, or on one that it opens for the while.
run(async (config, logger, stops) => {
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
