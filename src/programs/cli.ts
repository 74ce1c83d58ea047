import { CommanderError } from 'commander';
import { CliError } from './cli/api.js';
import { createProgram } from './cli/program.js';

try {
  await createProgram((text) => console.log(text)).parseAsync();
} catch (error) {
  if (!(error instanceof CliError || error instanceof CommanderError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
