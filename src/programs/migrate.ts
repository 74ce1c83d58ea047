import { prepareDatabase, createDeps } from '../process/service.js';
import { runProgram } from '../process/run.js';
import { joinDatabase } from '../process/startup.js';

// Brings the database to the schema of this release, as a start would, and ends.
runProgram(async (config, logger, stops) => {
  const database = await joinDatabase(config, logger);
  stops.add(() => database.close());
  const deps = createDeps(config, logger, database);
  stops.add(async () => {
    await deps.mailer?.close();
    await deps.fetch.close();
    await deps.breachedPasswords.close();
    await deps.knex.destroy();
  });
  await prepareDatabase(deps, database.directUrl);
  process.stdout.write('the schema is that of this release\n');
  await stops.run();
  process.exit(0);
});
