import { InvalidArgumentError, type Command } from 'commander';
import { openApi, type ApiRecord } from './api.js';
import type { CallCommand, Collection, Link, CommandMember, Verb, WrittenMembers } from './catalogue.js';
import { addList, showList, withListOptions, type ListOptions } from './lists.js';
import { linkOption, linksOf, memberOption, optionName, givenValues } from './members.js';
import { metaText, recordText } from './output.js';
import { one, type Shell } from './shell.js';
import { uploadTo, withFile } from './upload.js';
import { visibleJson } from './visible.js';

const addressOf = ({ path }: Collection, id: string, rest = '') => `/${path}/${encodeURIComponent(id)}${rest}`;

function addGet(parent: Command, collection: Collection, shell: Shell): void {
  const command = parent.command('get <id>').description(`show one of ${collection.path}`);
  if (collection.includes.length > 0) command.option('--include <names>', `related records too: ${collection.includes.join(', ')}`);
  const lines = collection.shown.map(
    ({ name, type, values, description }) => `  ${name.padEnd(28)} ${(values?.join('|') ?? type).padEnd(12)} ${description}`,
  );
  command.addHelpText('after', `\nAttributes:\n${lines.join('\n')}`);
  command.action(async (id: string, { include }: { include?: string }) => {
    const { data, included } = await openApi(shell.options())(
      'GET',
      addressOf(collection, id, include ? `?include=${encodeURIComponent(include)}` : ''),
    );
    shell.print(await recordText(shell.output(), one(data), included.length > 0 ? { included } : {}));
  });
}

/** The options of what a creation or an update takes. */
function withMembers(command: Command, attributes: readonly CommandMember[], relationships: readonly Link[] = []): void {
  for (const member of attributes) command.addOption(memberOption(member));
  for (const link of relationships) command.addOption(linkOption(link));
}

function documentOf({ type }: Collection, written: WrittenMembers, given: Record<string, unknown>, id?: string): Record<string, unknown> {
  const relationships = linksOf(written.relationships, given);
  return {
    data: {
      type,
      ...(id === undefined ? {} : { id }),
      attributes: givenValues(written.attributes, given),
      ...(Object.keys(relationships).length > 0 ? { relationships } : {}),
    },
  };
}

/** What an example gives an attribute. */
const sampleOf = ({ name, type, values }: CommandMember): string =>
  `${optionName(name)} ${values?.[0] ?? { text: name.includes('email') ? 'ada@example.com' : '...', time: '2026-01-31T12:00:00Z', flag: 'true', number: '1', json: "'{}'", list: '...' }[type]}`; // prettier-ignore

function exampleOf(path: string, words: string, members: readonly CommandMember[], links: readonly Link[] = []): string {
  const needed = members.filter(({ required }) => required);
  const ids = links.filter(({ required }) => required).map(({ name }) => `${optionName(name)} <id>`);
  const samples = (needed.length > 0 ? needed : members.slice(0, 1)).map(sampleOf);
  return `\nExample:\n  $ idp ${[path, words, ...samples, ...ids].join(' ')}`;
}

function addCreate(parent: Command, collection: Collection, written: WrittenMembers, shell: Shell): void {
  const command = parent.command('create').description('create one; secrets are shown this once');
  withMembers(command, written.attributes, written.relationships);
  command.addHelpText('after', exampleOf(collection.path, 'create', written.attributes, written.relationships));
  command.action(async (given: Record<string, unknown>) => {
    const { data, meta } = await openApi(shell.options())('POST', `/${collection.path}`, {
      document: documentOf(collection, written, given),
    });
    shell.print(await recordText(shell.output(), one(data), meta));
  });
}

function addUpdate(parent: Command, collection: Collection, written: WrittenMembers, shell: Shell): void {
  const command = parent.command('update <id>').description('change attributes of one');
  withMembers(command, written.attributes, written.relationships);
  command.addHelpText('after', exampleOf(collection.path, 'update <id>', written.attributes));
  command.action(async (id: string, given: Record<string, unknown>) => {
    if (Object.keys(given).length === 0) throw new InvalidArgumentError('Name what to change: --name value');
    const { data, meta } = await openApi(shell.options())('PATCH', addressOf(collection, id), {
      document: documentOf(collection, written, given, id),
    });
    shell.print(await recordText(shell.output(), one(data), meta));
  });
}

function addDelete(parent: Command, collection: Collection, shell: Shell): void {
  const command = parent.command('delete <id>').description('delete one');
  command.action(async (id: string) => {
    await openApi(shell.options())('DELETE', addressOf(collection, id));
    shell.print(shell.output() === 'table' ? `deleted: ${id}` : await metaText(shell.output(), { deleted: id }));
  });
}

/** Prints a file of lines while it comes. */
async function printLines(content: AsyncIterable<Uint8Array>, print: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of content) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) print(visibleJson(lines.join('\n')));
  }
  if (rest !== '') print(visibleJson(rest));
}

/** The command of a verb that takes a file, or answers one. */
function addFile(parent: Command, collection: Collection, { name, path, description, file }: Verb, shell: Shell): void {
  if (file === 'answered') {
    parent.command(`${name} <id>`).description(description).action(async (id: string) => {
      const take = (content: AsyncIterable<Uint8Array>) => printLines(content, shell.print);
      await openApi(shell.options())('GET', addressOf(collection, id, `/${path}`), { take });
    }); // prettier-ignore
    return;
  }
  const command = parent.command(`${name} <id> <file>`).description(description);
  command.action((id: string, sent: string) =>
    withFile(sent, async (content) => {
      const call = openApi(shell.options());
      await uploadTo(call, addressOf(collection, id), content);
      shell.print(await recordText(shell.output(), one((await call('GET', addressOf(collection, id))).data), {}));
    }),
  );
}

function addVerb(parent: Command, collection: Collection, verb: Verb, shell: Shell, all: readonly Collection[]): void {
  const { name, path, method, linked, many, input = [] } = verb;
  if (verb.file) return addFile(parent, collection, verb, shell);
  const command = parent.command(`${name} <id>${linked === undefined ? '' : ` <${linked}...>`}`).description(verb.description);
  if (name.includes('_')) command.alias(name.replaceAll('_', '-'));
  if (many !== undefined) {
    withListOptions(command, { sorts: [], includes: [] });
    command.action((id: string, given: ListOptions) =>
      showList(shell, all.find(({ type }) => type === many) ?? { shown: [] }, addressOf(collection, id, `/${path}`), given),
    );
    return;
  }
  withMembers(command, input);
  command.action(async (id: string, ...rest: unknown[]) => {
    const given = rest.at(-2) as Record<string, unknown>;
    const data = linked === undefined ? null : (rest[0] as string[]).map((other) => ({ type: linked, id: other }));
    const document = data ? { data } : input.length > 0 ? { meta: givenValues(input, given) } : undefined;
    const answer = await openApi(shell.options())(method, addressOf(collection, id, `/${path}`), { document });
    const record = answer.data as ApiRecord | null | undefined;
    const isDone = record === undefined && Object.keys(answer.meta).length === 0;
    shell.print(await recordText(shell.output(), record ?? null, isDone ? { done: id } : answer.meta));
  });
}

/** The commands of a collection: what can be done with all of its records, and with one. */
export function addCollection(command: Command, collection: Collection, shell: Shell, all: readonly Collection[]): void {
  const { create, update, verbs } = collection;
  if (collection.list) addList(command, collection, shell);
  if (collection.get) addGet(command, collection, shell);
  if (create) addCreate(command, collection, create, shell);
  if (update) addUpdate(command, collection, update, shell);
  if (collection.delete) addDelete(command, collection, shell);
  for (const verb of verbs) addVerb(command, collection, verb, shell, all);
}

/** The command of an endpoint below its first word: what it takes are options, what it answers is printed. */
export function addCall(command: Command, { words, method, path, summary, input = [] }: CallCommand, shell: Shell): void {
  const own = words
    .slice(1)
    .reduce((parent, word) => parent.commands.find((found) => found.name() === word) ?? parent.command(word), command);
  own.description(summary);
  withMembers(own, input);
  own.action(async (given: Record<string, unknown>) => {
    const document = method === 'GET' ? undefined : { meta: givenValues(input, given) };
    const { meta } = await openApi(shell.options())(method, `/${path}`, { document });
    shell.print(await metaText(shell.output(), meta));
  });
}
