import { createKnex } from '../../db/connection/knex.js';
import { migrate } from '../../db/migrations/migrate.js';
import { planMigrations, type PlannedMigration } from '../../db/migrations/migration-plan.js';
import { named } from '../../lib/named.js';
import { runProgram } from '../../process/run.js';
import { joinDatabase, joinExistingDatabase } from '../../process/startup.js';

/** What `--plan` ends with while migrations wait. */
const waiting = 2;

const effects = named({ reads: 'all are read meanwhile', rewrites: 'all are written anew meanwhile' });
const stops = (lock: string) => (lock === 'access exclusive' ? 'nobody reads or writes it meanwhile' : 'nobody writes it meanwhile');

function described({ name, phase, locks }: PlannedMigration): string {
  const head = `${name}${phase === null ? '' : ` (${phase})`}`;
  if (locks.length === 0) return `${head}\n  locks no table that is there\n`;
  const lines = locks.map(({ table, lock, work, rows }) => {
    const size = rows === null ? 'of unknown size' : `about ${rows} rows`;
    return `  ${table}: ${lock}, ${stops(lock)}; ${size}${work === null ? '' : `, ${effects[work]}`}\n`;
  });
  return `${head}\n${lines.join('')}`;
}

function summary(planned: readonly PlannedMigration[]): string {
  if (planned.length === 0) return 'No migration waits.\n';
  const many = planned.length === 1 ? '1 migration waits' : `${planned.length} migrations wait`;
  return `${planned.map(described).join('')}${many}. Each is a transaction of its own; none waits longer than 10 s for a lock. Back up first: npm run -s backup -- FILE\n`;
}

/** Migrates the database; with `plan` only tells what waits. */
export function runMigrate(plan: boolean): void {
  runProgram(async (config, logger, hooks) => {
    logger.level = 'warn';
    const database = await (plan ? joinExistingDatabase : joinDatabase)(config, logger);
    hooks.add(() => database.close());
    const knex = createKnex({ url: database.directUrl, poolMax: 1, logger });
    hooks.add(() => knex.destroy());
    let exitCode = 0;
    if (plan) {
      const planned = await planMigrations(knex);
      process.stdout.write(summary(planned));
      if (planned.length > 0) exitCode = waiting;
    } else {
      const done = await migrate(knex, logger);
      process.stdout.write(done.length === 0 ? 'The schema is current.\n' : `${done.join('\n')}\n`);
    }
    await hooks.run();
    process.exit(exitCode);
  });
}
