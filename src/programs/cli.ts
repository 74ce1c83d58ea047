import { CommanderError } from 'commander';
import { variablesOfProcess } from '../config.js';
import { CliError } from './cli/api.js';
import { createProgram } from './cli/program.js';

try {
  const exit = (code: number) => void (process.exitCode = code);
  await createProgram((text) => console.log(text), { exit, variables: variablesOfProcess() }).parseAsync();
} catch (error) {
  if (!(error instanceof CliError || error instanceof CommanderError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
