import { readdir, readFile } from 'node:fs/promises';
import type { Scope } from '../../src/db/scope.js';

const folder = new URL('../../src/db/tables/', import.meta.url);

/** A function of `src/db/tables` that works on the rows of one environment, and how its parameters beside the scope are called. */
export type TableFunction = {
  readonly module: string;
  readonly name: string;
  readonly parameters: readonly string[];
  readonly call: (scope: Scope, ...given: unknown[]) => unknown;
};

/** Where the bracket that opens at `at` closes. */
function closing(source: string, at: number): number {
  for (let depth = 0, i = at; i < source.length; i += 1) {
    if ('([{'.includes(source[i] as string)) depth += 1;
    if (')]}'.includes(source[i] as string) && --depth === 0) return i;
  }
  return source.length;
}

/** The parts of a list of parameters or members, at the commas that stand in no bracket. */
function members(list: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const sign of list.replace(/=>/g, '  ')) {
    if ('([{<'.includes(sign)) depth += 1;
    if (')]}>'.includes(sign)) depth -= 1;
    if (sign === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += sign;
  }
  return parts.map((one) => one.trim()).filter((one) => one !== '');
}

/** What the functions of `src/db/records.ts` take beside the scope; of links by the columns that their declaration names. */
const ofRecords: Readonly<Record<string, (owner: string, target: string) => readonly string[]>> = {
  find: () => ['id'],
  lock: () => ['id'],
  insert: () => ['row'],
  update: () => ['id', 'changes'],
  list: (owner) => [owner],
  listIds: (owner) => [owner],
  add: (owner, target) => [owner, `${target}s`],
  remove: (owner, target) => (owner === '' ? ['id'] : [owner, `${target}s`]),
};

/** All of them: whatever is exported from a module of `src/db/tables` and takes a `Scope`, or a pool and an environment's id. */
export async function tableFunctions(): Promise<TableFunction[]> {
  const found: TableFunction[] = [];
  for (const file of (await readdir(folder)).filter((one) => one.endsWith('.ts')).toSorted()) {
    const source = await readFile(new URL(file, folder), 'utf8');
    const module = file.replace(/\.ts$/, '');
    const exported = (await import(new URL(`${module}.js`, folder).pathname)) as Record<string, TableFunction['call']>;
    for (const [, names = '', given = ''] of source.matchAll(/^export const \{([^}]*)\} = (?:row|link)Functions(?:<\w+>)?\(([^)]*)\)/gm)) {
      const [, owner = '', target = ''] = [...given.matchAll(/'(\w+)'/g)].map(([, word = '']) => word);
      for (const [method = '', name = ''] of members(names).map((one) => one.split(': '))) {
        const parameters = ofRecords[method]?.(owner, target);
        if (!parameters) throw new Error(`nothing says what ${method} of src/db/records.ts takes`);
        found.push({ module, name, call: exported[name] as TableFunction['call'], parameters });
      }
    }
    for (const match of source.matchAll(/^export (?:async )?(?:function (\w+)|const (\w+) = (?:async )?)(?:<[^(]*>)?\(/gm)) {
      const start = match.index + match[0].length - 1;
      const parameters = members(source.slice(start + 1, closing(source, start)));
      const scoped = /^(?:\w+|\{[^}]*\}): Scope\b/.test(parameters[0] ?? '');
      if (!scoped && !/^\w+: Knex\b/.test(parameters[0] ?? '')) continue;
      if (!scoped && !/^environment_id: string$/.test(parameters[1] ?? '')) continue;
      const name = (match[1] ?? match[2]) as string;
      const exportedCall = exported[name] as unknown as (first: unknown, ...given: unknown[]) => unknown;
      const call: TableFunction['call'] = (scope, ...given) => exportedCall(scoped ? scope : scope.knex, ...given);
      found.push({ module, name, call, parameters: parameters.slice(1).map((one) => /^\w+|^\{/.exec(one)?.[0] ?? '') });
    }
  }
  return found;
}
