import { Option, type Command } from 'commander';
import { CliError } from './api.js';
import type { Shell } from './shell.js';

/** The database that the variables name, for commands that work on it without the service. @throws {CliError} */
async function ownDatabase() {
  const { ConfigError, readConfig } = await import('../../config.js');
  try {
    const config = readConfig();
    if (config.databaseDirectUrl === null) throw new CliError('DATABASE_URL is needed: an environment moves between databases of your own');
    return { config, database: config.databaseDirectUrl };
  } catch (error) {
    throw error instanceof ConfigError ? new CliError(error.message) : error;
  }
}

/** Runs what may be refused, or fail at the database: told in a sentence either way. */
async function toldPlainly(work: () => Promise<void>): Promise<void> {
  const { MoveRefusal } = await import('../move/checks.js');
  try {
    await work();
  } catch (error) {
    if (error instanceof MoveRefusal || error instanceof CliError) throw new CliError(error.message);
    throw new CliError(`the database refused: ${(error as Error).message}`);
  }
}

/** Moving environments between cells, beside what the Management API does with them (specification 24.3). */
export function addCells(environments: Command, { print }: Shell): void {
  environments
    .command('move <slug>')
    .description('move an environment to another cell; run again it goes on where it was ended')
    .addOption(
      new Option('--to <url>', 'the database of the other cell, as somebody who may subscribe there').env('MOVE_TO').makeOptionMandatory(),
    )
    .addOption(new Option('--from <url>', 'this database as the other cell reaches it; DATABASE_URL unless given').env('MOVE_FROM'))
    .option('--cell <name>', 'what the proxy’s map calls the other cell', 'OTHER-CELL')
    .option('--abort', 'undo what was done, as long as it isn’t served there')
    .action((slug: string, { to, from, cell, abort = false }: { to: string; from?: string; cell: string; abort?: true | false }) =>
      toldPlainly(async () => {
        const { config, database } = await ownDatabase();
        const { moveEnvironment } = await import('../move/move.js');
        await moveEnvironment(config, database, { slug, to, from: from ?? database, cell, abort }, print);
      }),
    );
  environments
    .command('purge <slug>')
    .description('delete what is left here of an environment that moved seven days ago')
    .action((slug: string) =>
      toldPlainly(async () => {
        const { database } = await ownDatabase();
        const { purgeEnvironment } = await import('../move/purge.js');
        await purgeEnvironment(database, slug);
        print(`purged: ${slug}`);
      }),
    );
}
