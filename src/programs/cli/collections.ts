import { InvalidArgumentError, type Command } from 'commander';
import { openApi, type ApiRecord, type CallApi } from './api.js';
import type { CallCommand, Collection, Link, CommandMember, Verb, WrittenMembers } from './catalogue.js';
import { linkOption, linksOf, memberOption, optionName, givenValues } from './members.js';
import { listText, metaText, recordText } from './output.js';
import { one, type Shell } from './shell.js';

const pageSize = 100;
/** How many attributes a table shows unless its columns are named. */
const shownColumns = 6;

const collect = (value: string, earlier: string[] = []) => [...earlier, value];
const addressOf = ({ path }: Collection, id: string, rest = '') => `/${path}/${encodeURIComponent(id)}${rest}`;

type ListOptions = {
  readonly filter?: string[];
  readonly sort?: string;
  readonly include?: string;
  readonly columns?: string;
  readonly limit?: string;
  readonly all?: true;
};

/** The query of a list. `created_at[gte]=...` is a comparison. */
function queryOf({ filter = [], sort, include }: ListOptions, size: number): URLSearchParams {
  const query = new URLSearchParams({ 'page[size]': String(size) });
  for (const text of filter) {
    const [, name, comparison = '', value] = /^(\w+)(\[\w+\])?=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new InvalidArgumentError(`${text}: filters are name=value`);
    query.set(`filter[${name}]${comparison}`, value);
  }
  if (sort !== undefined) query.set('sort', sort);
  if (include !== undefined) query.set('include', include);
  return query;
}

function limitOf({ limit = '25', all }: ListOptions): number {
  if (all) return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(limit)) throw new InvalidArgumentError('--limit is a number from 1 on');
  return Number(limit);
}

/** Pages until there are enough records, or no more. A feed has a next page always, and says whether there is more by now. */
async function* pagesOf(call: CallApi, path: string, query: URLSearchParams, limit: number): AsyncGenerator<ApiRecord[]> {
  let address: string | null = `${path}?${query}`;
  for (let left = limit; address !== null && left > 0;) {
    const { data, next, meta } = await call('GET', address);
    const records = (data as ApiRecord[]).slice(0, left);
    left -= records.length;
    yield records;
    const after: string | null =
      next === null || meta['more'] === false ? null : new URL(next, 'https://x').searchParams.get('page[after]');
    query.set('page[after]', after ?? '');
    address = after === null ? null : `${path}?${query}`;
  }
}

const isPlain = ({ type, name }: CommandMember) => type !== 'json' && type !== 'list' && !/description|url|uri|hint/.test(name);

async function showList(shell: Shell, collection: Pick<Collection, 'shown'>, path: string, given: ListOptions): Promise<void> {
  const limit = limitOf(given);
  const output = shell.output();
  const query = queryOf(given, Math.min(limit, pageSize));
  const shown = given.columns?.split(',') ?? collection.shown.filter(isPlain).slice(0, shownColumns).map(({ name }) => name); // prettier-ignore
  const all: ApiRecord[] = [];
  for await (const page of pagesOf(openApi(shell.options()), path, query, limit)) {
    // A long list is told while it comes.
    if (output !== 'ndjson') all.push(...page);
    else if (page.length > 0) shell.print(await listText(output, page, shown));
  }
  if (output !== 'ndjson') shell.print(await listText(output, all, shown));
}

const withListOptions = (command: Command, { sorts, includes }: Pick<Collection, 'sorts' | 'includes'>): Command => {
  command.option('--limit <number>', 'how many; 25 unless given').option('--all', 'every one, page by page');
  if (sorts.length > 0) command.option('--sort <names>', `by ${sorts.join(', ')}; - in front: descending`);
  if (includes.length > 0) command.option('--include <names>', `related records too: ${includes.join(', ')}`);
  return command.option('--columns <names>', 'attributes that a table shows');
};

function addList(parent: Command, collection: Collection, shell: Shell): void {
  const { path, filters } = collection;
  const command = withListOptions(parent.command('list').description(`list ${path}, the newest first`), collection);
  if (filters.length > 0) command.option('--filter <name=value>', 'may be given several times; values with commas between them', collect);
  const lines = filters.map(({ name, description }) => `  ${name.padEnd(24)} ${description}`);
  const [filter] = filters;
  if (filter)
    command.addHelpText(
      'after',
      `\nFilters:\n${lines.join('\n')}\n\nExample:\n  $ idp ${path} list --filter ${filter.name}=... --all --output ndjson`,
    );
  command.action((given: ListOptions) => showList(shell, collection, `/${path}`, given));
}

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

function addVerb(parent: Command, collection: Collection, verb: Verb, shell: Shell, all: readonly Collection[]): void {
  const { name, path, method, linked, many, input = [] } = verb;
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
