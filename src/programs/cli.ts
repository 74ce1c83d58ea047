import { basename } from 'node:path';
import { CommanderError, InvalidArgumentError } from 'commander';
import { variablesOfProcess } from '../lib/process-variables.js';
import { CliError, exits } from './cli/api.js';
import { createProgram } from './cli/program.js';
import { visibleLines } from './cli/visible.js';

/** What is told of the end of a command, beside what commander has told already. */
function tell(error: CliError | CommanderError): void {
  if (error instanceof InvalidArgumentError) console.error(visibleLines(error.message));
  if (!(error instanceof CliError)) return;
  console.error(visibleLines(error.message));
  const [request] = error.errors.flatMap(({ id }) => id ?? []);
  if (request !== undefined) console.error(visibleLines(`request id: ${request}`));
}

// Whoever reads the output has seen enough, as `head` has.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

try {
  const exit = (code: number) => void (process.exitCode = code);
  const name = basename(process.argv[1] ?? '').startsWith('idp') ? 'idp' : 'cli';
  await createProgram((text) => console.log(text), { exit, variables: variablesOfProcess(), name }).parseAsync();
} catch (error) {
  if (!(error instanceof CliError || error instanceof CommanderError)) throw error;
  tell(error);
  process.exitCode = error instanceof CliError ? error.exit : error.exitCode === 0 ? 0 : exits.usage;
}
