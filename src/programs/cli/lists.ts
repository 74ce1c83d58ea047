import { readFile, rename, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import { CliError, openApi, readPatiently, type ApiRecord, type CallApi } from './api.js';
import type { Collection, CommandMember } from './catalogue.js';
import { listText } from './output.js';
import type { Shell } from './shell.js';

const pageSize = 100;
/** How many attributes a table shows unless its columns are named. */
const shownColumns = 6;
/** How long to wait where nothing is new. */
const followMs = 1_000;

const collect = (value: string, earlier: string[] = []) => [...earlier, value];

export type ListOptions = {
  readonly filter?: string[];
  readonly sort?: string;
  readonly include?: string;
  readonly columns?: string;
  readonly limit?: string;
  readonly all?: true;
  readonly after?: string;
  readonly follow?: true;
  readonly cursorFile?: string;
};

/** The query of a list. `created_at[gte]=...` is a comparison. */
function queryOf({ filter = [], sort, include }: ListOptions): URLSearchParams {
  const query = new URLSearchParams();
  for (const text of filter) {
    const [, name, comparison = '', value] = /^(\w+)(\[\w+\])?=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new InvalidArgumentError(`${text}: filters are name=value`);
    query.set(`filter[${name}]${comparison}`, value);
  }
  if (sort !== undefined) query.set('sort', sort);
  if (include !== undefined) query.set('include', include);
  return query;
}

function limitOf({ limit = '25', all, follow }: ListOptions): number {
  if (all || follow) return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(limit)) throw new InvalidArgumentError('--limit is a number from 1 on');
  return Number(limit);
}

type ListPage = { readonly records: ApiRecord[]; readonly cursor: string | null };

/** Pages until there are enough records, or no more. A feed has a next page always, and says whether there is more by now; followed, it is asked again. */
async function* pagesOf(
  call: CallApi,
  path: string,
  query: URLSearchParams,
  { limit, follow }: { limit: number; follow: boolean },
): AsyncGenerator<ListPage> {
  for (let left = limit; left > 0;) {
    query.set('page[size]', String(Math.min(left, pageSize)));
    const address = `${path}?${query}`;
    const { data, next, meta } = follow ? await readPatiently(call, address) : await call('GET', address);
    const records = data as ApiRecord[];
    left -= records.length;
    const cursor = next === null ? null : new URL(next, 'https://x').searchParams.get('page[after]');
    yield { records, cursor };
    const isLast = meta['more'] === false;
    if (cursor === null || (isLast && !follow)) return;
    if (isLast) await sleep(followMs);
    query.set('page[after]', cursor);
  }
}

/** Where a feed was left, by the file; else where it is told to begin: followed, with what happens from now on. */
async function cursorOf({ cursorFile, after, follow }: ListOptions): Promise<string | undefined> {
  const begin = after ?? (follow ? 'now' : undefined);
  if (cursorFile === undefined) return begin;
  const stored = await readFile(cursorFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new CliError(`${cursorFile} can not be read: ${error.code}`);
  });
  return stored.trim() || begin;
}

/** Nobody finds half of it. */
async function keepCursor(file: string, cursor: string): Promise<void> {
  try {
    await writeFile(`${file}.new`, `${cursor}\n`);
    await rename(`${file}.new`, file);
  } catch (error) {
    throw new CliError(`${file} can not be written: ${(error as NodeJS.ErrnoException).code}`);
  }
}

const isPlain = ({ type, name }: CommandMember) => type !== 'json' && type !== 'list' && !/description|url|uri|hint/.test(name);

export async function showList(shell: Shell, collection: Pick<Collection, 'shown'>, path: string, given: ListOptions): Promise<void> {
  const limit = limitOf(given);
  const { follow = false, cursorFile } = given;
  const output = follow ? 'ndjson' : shell.output();
  const query = queryOf(given);
  const after = await cursorOf(given);
  if (after !== undefined) query.set('page[after]', after);
  const shown = given.columns?.split(',') ?? collection.shown.filter(isPlain).slice(0, shownColumns).map(({ name }) => name); // prettier-ignore
  const all: ApiRecord[] = [];
  let last: string | null = null;
  for await (const { records, cursor } of pagesOf(openApi(shell.options()), path, query, { limit, follow })) {
    // A long list is told while it comes.
    if (output !== 'ndjson') all.push(...records);
    else if (records.length > 0) shell.print(await listText(output, records, shown));
    if (output === 'ndjson' && cursorFile !== undefined && cursor !== null) await keepCursor(cursorFile, cursor);
    last = cursor;
  }
  if (output !== 'ndjson') shell.print(await listText(output, all, shown));
  if (cursorFile !== undefined && last !== null) await keepCursor(cursorFile, last);
}

export const withListOptions = (command: Command, { sorts, includes }: Pick<Collection, 'sorts' | 'includes'>): Command => {
  command.option('--limit <number>', 'how many; 25 unless given').option('--all', 'every one, page by page');
  if (sorts.length > 0) command.option('--sort <names>', `by ${sorts.join(', ')}; - in front: descending`);
  if (includes.length > 0) command.option('--include <names>', `related records too: ${includes.join(', ')}`);
  return command.option('--columns <names>', 'attributes that a table shows');
};

export function addList(parent: Command, collection: Collection, shell: Shell): void {
  const { path, filters, feed = false } = collection;
  const command = withListOptions(parent.command('list').description(`list ${path}, the ${feed ? 'oldest' : 'newest'} first`), collection);
  if (feed)
    command
      .option('--after <cursor>', 'begin after it, or with: oldest, now')
      .option('--follow', 'go on as more happens, from now on unless --after says otherwise; as ndjson')
      .option('--cursor-file <file>', 'keep there how far it has come, and go on from that');
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
