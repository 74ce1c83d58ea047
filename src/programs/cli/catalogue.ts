import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../lib/package-root.js';

/** How a value is written after its option: as it is, `true` or `false`, a number, or JSON; `list`: one by one, by repeating the option. */
export type MemberType = 'text' | 'time' | 'flag' | 'number' | 'json' | 'list';

/** An attribute, or a member of the `meta` that an action or a call takes. */
export type CommandMember = {
  readonly name: string;
  readonly type: MemberType;
  /** The values that there are; of a list, of its items. */
  readonly values?: readonly string[];
  readonly nullable?: true;
  readonly required?: true;
  readonly description: string;
};

/** A relationship as a request names it: the type of its records. */
export type Link = Pick<CommandMember, 'name' | 'required' | 'description'> & { readonly to: string; readonly many?: true };

/** What a creation or an update takes. */
export type WrittenMembers = { readonly attributes: readonly CommandMember[]; readonly relationships: readonly Link[] };

/** A command on one record, but for reading, changing and deleting it. */
export type Verb = {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the record's address. */
  readonly path: string;
  readonly description: string;
  /** Of a change of a relationship: the type of the records that are named after the id. */
  readonly linked?: string;
  /** Answers a list of this type. */
  readonly many?: string;
  readonly input?: readonly CommandMember[];
  /** Takes or answers a file in place of a document. */
  readonly file?: 'taken' | 'answered';
};

export type Collection = {
  readonly path: string;
  readonly type: string;
  readonly description: string;
  readonly shown: readonly CommandMember[];
  /** The parameters of its list as they are written: `email`, `created_at[gte]`. */
  readonly filters: readonly { readonly name: string; readonly description: string }[];
  readonly sorts: readonly string[];
  readonly includes: readonly string[];
  readonly get?: true;
  readonly list?: true;
  /** The list goes on for good, from a cursor. */
  readonly feed?: true;
  readonly create?: WrittenMembers;
  readonly update?: WrittenMembers;
  readonly delete?: true;
  readonly verbs: readonly Verb[];
};

/** An endpoint of the Management API that concerns no single record. */
export type CallCommand = {
  readonly words: readonly [string, ...string[]];
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly input?: readonly CommandMember[];
};

/** What the Management API has, as the command line needs it: written by `npm run docs`, so that no part of the service is loaded to know it. */
export type CommandCatalogue = { readonly collections: readonly Collection[]; readonly calls: readonly CallCommand[] };

export const cataloguePath = 'data/commands.json';

export const readCatalogue = (): CommandCatalogue => JSON.parse(readFileSync(join(packageRoot, cataloguePath), 'utf8')) as CommandCatalogue;
