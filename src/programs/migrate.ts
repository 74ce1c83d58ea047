import { Command } from 'commander';

const program = new Command('migrate')
  .description(
    'Brings the database to the schema of this release, as the first start of it would. Replicas of the release before may run meanwhile.',
  )
  .option('--plan', 'only tell what waits, which locks it takes and on how many rows (exit 2 while something waits)')
  .parse();

const { runMigrate } = await import('./migrate/run.js');
runMigrate(program.opts<{ plan?: boolean }>().plan ?? false);
