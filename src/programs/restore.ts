import { resolve } from 'node:path';
import { Command } from 'commander';

const program = new Command('restore')
  .description('Loads a backup into an empty database, all of it or nothing. Stop the service before, start it afterwards.')
  .argument('<file>', 'a backup that `npm run -s backup` has written')
  .option('--keep-sessions', 'leave sessions, tokens and signing keys as they were, those too that were revoked since')
  .option('--drill', 'only try it: on a database of its own, which goes afterwards; nothing else is changed, and nothing is sent')
  .parse();

const { keepSessions = false, drill = false } = program.opts<{ keepSessions?: boolean; drill?: boolean }>();
const { restore } = await import('./restore/run.js');
restore({ path: resolve(program.args[0] as string), keepSessions, onlyTry: drill });
