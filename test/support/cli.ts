import { createProgram } from '../../src/programs/cli/program.js';
import { managementClient } from './management.js';

/** The options by which the management client reaches the service at `url`. */
export const accessTo = (url: string): string[] => {
  const { id, client_secret } = managementClient;
  return ['--url', url, '--client-id', id, '--client-secret', client_secret];
};

/** Runs the command line as the management client of the service at `url`; what it prints. @throws what it ends with */
export async function runCli(url: string, ...words: string[]): Promise<string> {
  const printed: string[] = [];
  await createProgram((text) => printed.push(text))
    .exitOverride()
    .parseAsync([...accessTo(url), ...words], { from: 'user' });
  return printed.join('\n');
}
