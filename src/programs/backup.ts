import { resolve } from 'node:path';
import { Command } from 'commander';

const program = new Command('backup')
  .description('Writes a backup of the whole database, as it is at one moment. The service may run meanwhile. SECRET_KEY is not in it.')
  .argument('<file>', 'a new file, such as identity.backup')
  .parse();

const { backUp } = await import('./backup/run.js');
backUp(resolve(program.args[0] as string));
