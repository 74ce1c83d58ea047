import type { Command } from 'commander';
import { named } from '../../lib/named.js';
import type { Shell } from './shell.js';

type Add = (command: Command, shell: Shell) => void;
type OnDemand = { readonly description: string; readonly load: () => Promise<Add> };

const endpoint = async (): Promise<Add> => (await import('./endpoints.js')).addEndpoints;

/**
 * Commands for which much of the service is loaded, once they are asked for: the list of all is there at once. Endpoints of the Management API that
 * have no command of their own stand here with the first of their words.
 */
export const onDemand: Readonly<Record<string, OnDemand>> = named({
  config: {
    description: 'an environment as one document: configuration as code',
    load: async () => (await import('./config/commands.js')).addConfig,
  },
  diagnostics: { description: 'Look for what is wrong with the installation', load: endpoint },
  'token-preview': { description: 'Preview a token', load: endpoint },
});

/** Adds these commands; what is within one comes when it is asked for, or its help. */
export function addOnDemand(program: Command, shell: Shell): void {
  const waiting = new Map<Command, () => Promise<Add>>();
  for (const [name, { description, load }] of Object.entries(onDemand)) waiting.set(program.command(name).description(description), load);
  const complete = async (command: Command) => {
    const load = waiting.get(command);
    waiting.delete(command);
    if (load) (await load())(command, shell);
  };
  program.hook('preSubcommand', (_program, command) => complete(command));
  program.helpCommand(false);
  program
    .command('help [command]')
    .description('display help for command')
    .action(async (name?: string) => {
      const command = program.commands.find((one) => one.name() === name) ?? program;
      await complete(command);
      command.help();
    });
}
