import type { z } from 'zod';
import type { ApiErrorObject } from '../../errors.js';
import { findIssues } from '../../lib/measured.js';
import { nearestName } from '../../lib/nearest.js';
import { own } from '../../lib/named.js';
import { turns, type Turn } from '../../lib/turns.js';
import { itemOf, itemsOf, type Item, type Path } from './items.js';
import { isObject, listedIn, objectsIn, type Listed } from './listed.js';
import { recordName } from './keys.js';
import { fromIssue, maxErrors, pointerTo, problem } from '../problems.js';
import type { ResourceRow } from '../resource.js';
import { documentJsonSchema, documentSchema } from './document.js';
import { collectionNames, documentKinds, managementName, secretAttributes } from './kinds.js';

/** A document taken apart. Items that have problems of their own are left out of `items`; `declared` has their names too. */
export type ReadDocument = {
  readonly items: readonly Item[];
  readonly listed: readonly Listed[];
  readonly declared: ReadonlySet<string>;
  readonly problems: readonly ApiErrorObject[];
};

/** Names that the document gives to two records. */
function repeated(items: readonly Item[]): { item: Item; error: ApiErrorObject }[] {
  const seen = new Set<string>();
  return items.flatMap((item) => {
    const name = recordName(item.kind.type, item.key);
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    const webhook = item.kind.type === 'webhook';
    const detail = `"${item.key.slice(0, 200)}" appears in the document twice.`;
    const error = problem(
      422,
      webhook ? 'ambiguous_name' : 'duplicate_value',
      detail,
      pointerTo(...documentPath, ...item.path, ...keyOf(item)),
    );
    return [{ item, error }];
  });
}

const keyOf = ({ kind }: Item): string[] => (kind.key === null ? [] : [kind.key]);

type Schema = { readonly properties?: Readonly<Record<string, Schema>>; readonly items?: Schema; readonly anyOf?: readonly Schema[] };

/** The names that a document knows at a place. */
function namesAt(path: Path): string[] {
  const schema = path.reduce<Schema | undefined>(
    (at, part) => (typeof part === 'number' ? at?.items : own(at?.properties ?? {}, part)),
    documentJsonSchema() as Schema,
  );
  return Object.keys(schema?.properties ?? {});
}

/** Where the document stands in the request. */
export const documentPath = ['meta', 'document'] as const;

const base = {
  path: documentPath,
  unknownCode: 'unknown_member',
  unknownText: 'is not a member that a configuration document has here.',
  nearest: (path: Path, name: string) => nearestName(name, namesAt(path)),
} as const;

/** The most problems of a document that are reported at once. */
export const mostProblems = maxErrors;

/** What an issue of the schema says. Where the reference to a secret belongs, anything else might be a secret, and isn't repeated. */
function errorsOf(issue: z.core.$ZodIssue, document: unknown, left: number): ApiErrorObject[] {
  const path = issue.path as Path;
  const at = path.findIndex((part) => typeof part === 'string' && secretAttributes.has(part));
  if (at >= 0) {
    const detail = `"${path[at]}" takes where the secret is, as {env: NAME} or {file: PATH}: a document never holds it.`;
    return [problem(422, 'secret_in_document', detail, pointerTo(...documentPath, ...path.slice(0, at + 1)))];
  }
  return fromIssue(issue.code === 'unrecognized_keys' ? { ...issue, keys: issue.keys.slice(0, left) } : issue, document, base);
}

async function schemaProblems(document: unknown, turn: Turn): Promise<{ paths: Path[]; errors: ApiErrorObject[] }> {
  const issues = await findIssues(documentSchema, document, turn);
  const errors: ApiErrorObject[] = [];
  for (const issue of issues) {
    if (errors.length >= mostProblems) break;
    errors.push(...errorsOf(issue, document, mostProblems - errors.length));
  }
  return { paths: issues.map(({ path }) => path as Path), errors };
}

/** Finds the item that a place of the document belongs to: a permission rather than its API resource. */
function owners(items: readonly Item[]): (path: Path) => Item | undefined {
  const byPointer = new Map(items.map((item) => [item.path.join('/'), item]));
  return (path) => {
    for (let length = Math.min(path.length, 4); length > 0; length--) {
      const found = byPointer.get(path.slice(0, length).join('/'));
      if (found) return found;
    }
    return undefined;
  };
}

/** The built-in API resource is no document's. */
const reserved = (items: readonly Item[]): { item: Item; error: ApiErrorObject }[] =>
  items
    .filter(({ kind, key }) => kind.type === 'api_resource' && key === managementName)
    .map((item) => {
      const detail = 'The built-in API resource comes with the service; roles and grants refer to it as "management".';
      return { item, error: problem(409, 'system_record', detail, pointerTo(...documentPath, ...item.path, 'identifier')) };
    });

/** The records that a document describes, those that have problems among them. */
async function itemsIn(document: ResourceRow, environmentKey: string, turn: Turn): Promise<Item[]> {
  const environment = own(document, 'environment');
  const items = isObject(environment) ? [itemOf(documentKinds.environment, environmentKey, ['environment'], environment)] : [];
  for (const name of collectionNames)
    for (const [record, index] of objectsIn(own(document, name))) {
      await turn();
      items.push(...itemsOf(name, record, index));
    }
  return items;
}

/**
 * Takes a document apart and says what is wrong with it by itself, without asking what is there; others have their turn between its records. What has as
 * many problems as are told isn't looked at to its end.
 */
export async function readDocument(document: unknown, environmentKey: string): Promise<ReadDocument> {
  const turn = turns();
  const found = await schemaProblems(document, turn);
  const content = isObject(document) ? document : {};
  const items = await itemsIn(content, environmentKey, turn);
  const ambiguous = [...repeated(items), ...reserved(items)];
  const broken = new Set<Item | undefined>([...ambiguous.map(({ item }) => item), ...found.paths.map(owners(items))]);
  await turn();
  return {
    items: items.filter((item) => !broken.has(item)),
    listed: listedIn(content),
    declared: new Set(items.map(({ kind, key }) => recordName(kind.type, key))),
    problems: [...found.errors, ...ambiguous.map(({ error }) => error)],
  };
}
