import { Argument, type Command } from 'commander';
import type { Shell } from './shell.js';

/** Asks `idp complete` for the words that may follow; what is typed is handed over as words, never as text of a script. */
const scripts = {
  bash: (name: string) => `_${name}_complete() {
  local IFS=$'\\n'
  COMPREPLY=($(${name} complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _${name}_complete ${name}`,
  zsh: (name: string) => `#compdef ${name}
_${name}() {
  local -a found
  found=("\${(@f)$(${name} complete -- "\${(@)words[2,$CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _${name} ${name}`,
  fish: (name: string) => `complete -c ${name} -f -a '(${name} complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`,
} as const;

type ShellName = keyof typeof scripts;

export function addCompletion(command: Command, { print }: Shell): void {
  command
    .addArgument(new Argument('<shell>').choices(Object.keys(scripts)))
    .addHelpText('after', `\nExample:\n  $ eval "$(idp completion bash)"`)
    .action((shell: ShellName) => print(scripts[shell](command.parent?.name() ?? 'idp')));
}

/** The command that the words before the last have come to, filled. */
async function reached(program: Command, words: readonly string[], complete: (command: Command) => Promise<void>): Promise<Command> {
  let command = program;
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (!next) continue;
    await complete(next);
    command = next;
  }
  return command;
}

/** The words that may stand where the last of `words` is being typed. */
export async function candidatesOf(
  program: Command,
  words: readonly string[],
  complete: (command: Command) => Promise<void>,
): Promise<string[]> {
  const [typed = '', before = words.slice(0, -1)] = [words.at(-1)];
  const command = await reached(program, before, complete);
  const help = command.createHelp();
  const options = [...command.options, ...program.options];
  const valued = options.find((option) => option.long !== null && option.long === before.at(-1));
  const all =
    valued?.argChoices ??
    (typed.startsWith('-')
      ? options.flatMap(({ long }) => long ?? [])
      : [
          ...help.visibleCommands(command).map((one) => one.name()),
          ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
        ]);
  return [...new Set(all)].filter((one) => one.startsWith(typed)).sort();
}
