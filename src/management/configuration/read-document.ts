import type { z } from 'zod';
import type { ApiErrorObject } from '../../errors.js';
import { findIssues } from '../../lib/measured.js';
import { nearestName } from '../../lib/nearest.js';
import { named, own } from '../../lib/named.js';
import { turns, type Turn } from '../../lib/turns.js';
import { isObject, listedIn, objectsIn, textIn, type Listed } from './listed.js';
import { domainKey, grantKey, recordName, permissionKey, wordsKey } from './keys.js';
import { fromIssue, maxErrors, pointerTo, problem } from '../problems.js';
import type { ResourceRow } from '../resource.js';
import { documentJsonSchema, documentSchema, type DescribedCredential, type RolePermissions, type SecretReference } from './document.js';
import {
  collectionNames,
  collections,
  documentKinds,
  managementName,
  secretAttributes,
  settableAttributesOf,
  type CollectionName,
  type Kind,
} from './kinds.js';

type Path = readonly (string | number)[];

export type Item = {
  readonly kind: Kind;
  /** What the record is called in changes; with its kind it names one record. */
  readonly key: string;
  /** Where it stands in the document. */
  readonly path: Path;
  readonly attributes: ResourceRow;
  /** References to its secrets, as far as the document has them; null takes one away. */
  readonly secrets: Readonly<Record<string, SecretReference | null>>;
  readonly permissions?: readonly RolePermissions[];
  /** Of a client: names of connections. */
  readonly connections?: readonly string[];
  /** Of a client: all its federated credentials. */
  readonly federated_credentials?: readonly DescribedCredential[];
  /** Of an organization: names of roles. */
  readonly default_roles?: readonly string[];
  /** Of a connection and a domain: the organization; null: the environment’s. */
  readonly organization?: string | null;
  /** Of a permission and a grant: the API resource. */
  readonly api_resource?: string;
  /** Of a grant: the client. */
  readonly client_id?: string;
};

/** A document taken apart. Items that have problems of their own are left out of `items`; `declared` has their names too. */
export type ReadDocument = {
  readonly items: readonly Item[];
  readonly listed: readonly Listed[];
  readonly declared: ReadonlySet<string>;
  readonly problems: readonly ApiErrorObject[];
};

function attributesIn(kind: Kind, record: ResourceRow): ResourceRow {
  return Object.fromEntries(
    settableAttributesOf(kind)
      .filter(({ name }) => Object.hasOwn(record, name))
      .map(({ name }): [string, unknown] => [name, own(record, name)]),
  );
}

function itemOf(kind: Kind, key: string, path: Path, record: ResourceRow, more: Partial<Item> = {}): Item {
  const secrets = kind.secrets
    .filter((name) => Object.hasOwn(record, name))
    .map((name): [string, SecretReference | null] => [name, own(record, name) as SecretReference | null]);
  return { kind, key, path, attributes: attributesIn(kind, record), secrets: named(Object.fromEntries(secrets)), ...more };
}

function apiResourceItems(record: ResourceRow, key: string, path: Path): Item[] {
  const permissions = objectsIn(own(record, 'permissions')).flatMap(([one, index]) => {
    const name = textIn(one, 'name');
    const pointer = [...path, 'permissions', index];
    return name === null ? [] : [itemOf(documentKinds.permission, permissionKey(key, name), pointer, one, { api_resource: key })];
  });
  return [itemOf(documentKinds.api_resource, key, path, record), ...permissions];
}

function clientItems(record: ResourceRow, key: string, path: Path): Item[] {
  const grants = objectsIn(own(record, 'grants')).flatMap(([one, index]) => {
    const api_resource = textIn(one, 'api_resource');
    const subject_type = textIn(one, 'subject_type') ?? 'client';
    if (api_resource === null) return [];
    const more = { api_resource, client_id: key };
    const pointer = [...path, 'grants', index];
    return [itemOf(documentKinds.client_grant, grantKey(key, api_resource, subject_type), pointer, { ...one, subject_type }, more)];
  });
  const connections = own(record, 'connections') as string[] | undefined;
  const federated_credentials = own(record, 'federated_credentials') as DescribedCredential[] | undefined;
  const links = { ...(connections && { connections }), ...(federated_credentials && { federated_credentials }) };
  return [itemOf(documentKinds.client, key, path, record, links), ...grants];
}

function organizationItems(record: ResourceRow, key: string, path: Path): Item[] {
  const default_roles = own(record, 'default_roles') as string[] | undefined;
  const names = own(record, 'domains');
  const domains = (Array.isArray(names) ? names : []).flatMap((domain: unknown, index) => {
    if (typeof domain !== 'string') return [];
    const pointer = [...path, 'domains', index];
    return [itemOf(documentKinds.organization_domain, domainKey(key, domain), pointer, { domain }, { organization: key })];
  });
  return [itemOf(documentKinds.organization, key, path, record, default_roles && { default_roles }), ...domains];
}

function roleItems(record: ResourceRow, key: string, path: Path): Item[] {
  const permissions = own(record, 'permissions') as RolePermissions[] | undefined;
  return [itemOf(documentKinds.role, key, path, record, permissions === undefined ? {} : { permissions })];
}

function itemsOf(collection: CollectionName, record: ResourceRow, index: number): Item[] {
  const kind = documentKinds[collections[collection]];
  const key = textIn(record, kind.key as string);
  if (key === null) return [];
  const path = [collection, index];
  if (kind.type === 'api_resource') return apiResourceItems(record, key, path);
  if (kind.type === 'client') return clientItems(record, key, path);
  if (kind.type === 'organization') return organizationItems(record, key, path);
  const organization = own(record, 'organization') as string | null | undefined;
  if (kind.type === 'connection') return [itemOf(kind, key, path, record, organization === undefined ? {} : { organization })];
  if (kind.type === 'role') return roleItems(record, key, path);
  if (kind.type === 'mail_template' || kind.type === 'page_text') return [itemOf(kind, wordsKey(key, own(record, 'locale')), path, record)];
  return [itemOf(kind, key, path, record)];
}

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
    const detail = `"${item.key.slice(0, 200)}" stands in the document twice.`;
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
