import { z } from 'zod';
import { Option, type Command } from 'commander';
import { endpoints } from '../../management/calls/index.js';
import type { Endpoint } from '../../management/calls/endpoint.js';
import { callApi, CliError } from './api.js';
import { present, type Shell } from './shell.js';

type Schema = { readonly type?: string; readonly enum?: readonly string[]; readonly description?: string };

const optionName = (name: string) => `--${name.replaceAll('_', '-')}`;

const json = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CliError(`this is not JSON: ${text.slice(0, 100)}`);
  }
};

/** The option for a member of the input: text and numbers as they are, a flag, or JSON. */
function optionOf(name: string, { type, enum: values, description = '' }: Schema, required: boolean): Option {
  if (type === 'boolean') return new Option(optionName(name), description);
  const option = new Option(
    `${optionName(name)} <${values || type === 'string' ? 'text' : type === 'integer' ? 'number' : 'json'}>`,
    description,
  );
  if (values) option.choices([...values]);
  else if (type !== 'string') option.argParser(json);
  return option.makeOptionMandatory(required);
}

const camelCase = (name: string) => name.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());

function fill(command: Command, endpoint: Endpoint, { options, print }: Shell): void {
  command.description(endpoint.summary);
  const schema = z.toJSONSchema(endpoint.input ?? z.object({}), { io: 'input', unrepresentable: 'any' });
  const members = (schema.properties ?? {}) as Record<string, Schema>;
  for (const [name, member] of Object.entries(members)) command.addOption(optionOf(name, member, schema.required?.includes(name) ?? false));
  command.action(async (given: Record<string, unknown>) => {
    const meta = present(Object.fromEntries(Object.keys(members).map((name) => [name, given[camelCase(name)]])));
    const document = endpoint.input ? { meta } : undefined;
    const answer = await callApi(options(), endpoint.method, `/${endpoint.path}`, document);
    print(JSON.stringify(answer.meta, null, 2));
  });
}

/** The endpoints of the Management API that begin with the command's name: what they take are its options, what they answer is printed as JSON. */
export function addEndpoints(command: Command, shell: Shell): void {
  for (const endpoint of endpoints.filter(({ words }) => words[0] === command.name())) {
    const own = endpoint.words.slice(1).reduce((parent, word) => {
      return parent.commands.find((one) => one.name() === word) ?? parent.command(word);
    }, command);
    fill(own, endpoint, shell);
  }
}
