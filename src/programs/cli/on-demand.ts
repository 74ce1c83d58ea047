import type { Command } from 'commander';
import { named } from '../../lib/named.js';
import { readCatalogue } from './catalogue.js';
import type { Shell } from './shell.js';

type Add = (command: Command, shell: Shell) => void;
type OnDemand = { readonly description: string; readonly load: () => Promise<Add> };

/** Commands of their own for which much of the service is loaded. */
const own: Readonly<Record<string, OnDemand>> = named({
  config: {
    description: 'an environment as one document: configuration as code',
    load: async () => (await import('./config/commands.js')).addConfig,
  },
  login: {
    description: 'sign in in the browser, as a person, for the commands that follow',
    load: async () => (await import('./login.js')).addLogin,
  },
  logout: { description: 'end that, and forget it', load: async () => (await import('./login.js')).addLogout },
  completion: {
    description: 'print what completes words in bash, zsh or fish',
    load: async () => (await import('./completion.js')).addCompletion,
  },
});

/** Commands that are filled once they are asked for: the list of all is there at once. Collections and calls come from the catalogue. */
export function commandsOnDemand(): Readonly<Record<string, OnDemand>> {
  const { collections, calls } = readCatalogue();
  const fromCatalogue = [...new Set([...collections.map(({ path }) => path), ...calls.map(({ words }) => words[0])])];
  const generic = fromCatalogue.map((name): [string, OnDemand] => {
    const collection = collections.find(({ path }) => path === name);
    const called = calls.filter(({ words }) => words[0] === name);
    const load = async (): Promise<Add> => {
      const [{ addCall, addCollection }, { addCells }] = await Promise.all([import('./collections.js'), import('./cells.js')]);
      return (command, shell) => {
        if (collection) addCollection(command, collection, shell, collections);
        for (const call of called) addCall(command, call, shell);
        if (name === 'environments') addCells(command, shell);
      };
    };
    return [name, { description: collection?.description ?? called[0]?.summary ?? '', load }];
  });
  return named({ ...Object.fromEntries(generic), ...own });
}

/**
 * Adds these commands; what is within one comes when it is asked for, or its help.
 * @param adopt is told of commands that were added
 */
export function addOnDemand(program: Command, shell: Shell, adopt: (command: Command) => void): void {
  const waiting = new Map<Command, () => Promise<Add>>();
  for (const [name, { description, load }] of Object.entries(commandsOnDemand())) {
    const [summary = ''] = description.split(/(?<=\.) /);
    const command = program.command(name).description(description).summary(summary);
    if (name.includes('_')) command.alias(name.replaceAll('_', '-'));
    waiting.set(command, load);
  }
  const complete = async (command: Command) => {
    const load = waiting.get(command);
    waiting.delete(command);
    if (!load) return;
    (await load())(command, shell);
    adopt(command);
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
  program
    .command('complete [words...]', { hidden: true })
    .description('the words that may follow, for a shell')
    .helpOption(false)
    .allowUnknownOption()
    .action(async (words: string[]) => {
      const { candidatesOf } = await import('./completion.js');
      shell.print((await candidatesOf(program, words, complete)).join('\n'));
    });
}
