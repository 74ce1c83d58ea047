import { Command } from 'commander';

const program = new Command('rekey')
  .description('Seals anew what earlier keys have sealed, beside the running service or without it.')
  .option('--status', 'only tell how far it is, and change nothing (exit 2 while something waits)')
  .parse();

const { rekey } = await import('./rekey/run.js');
rekey(program.opts<{ status?: boolean }>().status ?? false);
