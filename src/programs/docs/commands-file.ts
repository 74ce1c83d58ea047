import { createOpenApi } from '../../management/openapi/document.js';
import { endpoints } from '../../management/calls/index.js';
import { registry } from '../../management/resources/index.js';
import type { CallCommand, CommandCatalogue, Collection, Link, CommandMember, MemberType, Verb, WrittenMembers } from '../cli/catalogue.js';

type Schema = { readonly [keyword: string]: unknown };
type Parameter = { readonly in: string; readonly name: string; readonly description?: string; readonly schema?: Schema };
type Operation = {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> };
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: Schema }> }>;
};
type Paths = Record<string, Partial<Record<'get' | 'post' | 'put' | 'patch' | 'delete', Operation>>>;

const mediaType = 'application/vnd.api+json';

/** Addresses stand in no command: those of any environment serve. */
const addresses = { base_url: 'https://idp.example', issuer: 'https://idp.example' };

/** What the command line needs of the OpenAPI document: every collection and every call that is in it. */
class Reader {
  private readonly document = createOpenApi(registry)(addresses);
  private readonly components = (this.document.components?.schemas ?? {}) as Record<string, Schema>;
  readonly paths = this.document.paths as unknown as Paths;

  private resolved(schema: Schema): Schema {
    const reference = schema['$ref'];
    return typeof reference === 'string' ? (this.components[reference.split('/').at(-1) ?? ''] ?? {}) : schema;
  }

  /** The schema below the names, references resolved on the way; null when there is none. */
  private within(schema: Schema | undefined, ...names: string[]): Schema | null {
    let found: Schema | undefined = schema && this.resolved(schema);
    for (const name of names) {
      const next: Schema | undefined = (found?.['properties'] as Record<string, Schema> | undefined)?.[name];
      found = next && this.resolved(next);
    }
    return found ?? null;
  }

  private member(name: string, given: Schema, required: boolean): CommandMember {
    const schema = this.resolved(given);
    const description = ((given['description'] ?? schema['description'] ?? '') as string).replaceAll(/\s+/g, ' ');
    const options = ((schema['anyOf'] ?? schema['oneOf'] ?? [schema]) as Schema[]).map((one) => this.resolved(one));
    const types = options.flatMap(
      (one) => [one['type'] ?? (one['enum'] || one['const'] !== undefined ? 'string' : 'any')].flat() as string[],
    );
    const kinds = [...new Set(types)].filter((type) => type !== 'null');
    const [chosen] = options.filter((one) => one['type'] !== 'null');
    const items = this.resolved((chosen?.['items'] ?? {}) as Schema);
    const type = kinds.length === 1 ? typeOf(kinds[0] as string, chosen ?? {}, items) : 'json';
    const values = ((type === 'list' ? items['enum'] : chosen?.['enum']) as string[] | undefined)?.filter((one) => one !== null);
    return {
      name,
      type,
      ...(values && type !== 'json' ? { values } : {}),
      ...(types.includes('null') ? { nullable: true } : {}),
      ...(required ? { required: true } : {}),
      description,
    };
  }

  private members(schema: Schema | null): CommandMember[] {
    const required = new Set((schema?.['required'] ?? []) as string[]);
    return Object.entries((schema?.['properties'] ?? {}) as Record<string, Schema>).map(([name, one]) =>
      this.member(name, one, required.has(name)),
    );
  }

  private links(schema: Schema | null): Link[] {
    const required = new Set((schema?.['required'] ?? []) as string[]);
    return Object.entries((schema?.['properties'] ?? {}) as Record<string, Schema>).map(([name, one]) => {
      const data = this.within(one, 'data') ?? {};
      const option = ((data['anyOf'] ?? [data]) as Schema[]).find(({ type }) => type !== 'null') ?? {};
      const many = option['type'] === 'array';
      const to = String(this.within(many ? (option['items'] as Schema) : option, 'type')?.['const']);
      const description = ((one['description'] ?? '') as string).replace(/^Required\. /, '');
      return { name, ...(required.has(name) ? { required: true } : {}), description, to, ...(many ? { many: true } : {}) };
    });
  }

  private bodyOf = ({ requestBody }: Operation) => requestBody?.content[mediaType]?.schema;

  written(operation: Operation): WrittenMembers {
    const body = this.bodyOf(operation);
    return {
      attributes: this.members(this.within(body, 'data', 'attributes')),
      relationships: this.links(this.within(body, 'data', 'relationships')),
    };
  }

  input(operation: Operation): CommandMember[] | undefined {
    const meta = this.within(this.bodyOf(operation), 'meta');
    return meta ? this.members(meta) : undefined;
  }

  /** The type of the records that a change of a relationship names. */
  linked(operation: Operation): string {
    const data = this.within(this.bodyOf(operation), 'data');
    return String(this.within(data?.['items'] as Schema, 'type')?.['const']);
  }

  shown(operation: Operation | undefined): { type: string; members: CommandMember[] } | null {
    const schema = operation?.responses['200']?.content?.[mediaType]?.schema;
    const data = this.within(schema, 'data');
    const object = data?.['items'] ? this.resolved(data['items'] as Schema) : data;
    const type = this.within(object ?? undefined, 'type')?.['const'];
    return typeof type === 'string' ? { type, members: this.members(this.within(object ?? {}, 'attributes')) } : null;
  }

  isMany = (operation: Operation): boolean => {
    const schema = operation.responses['200']?.content?.[mediaType]?.schema;
    return this.within(schema, 'data')?.['type'] === 'array';
  };
}

function typeOf(type: string, schema: Schema, items: Schema): MemberType {
  if (type === 'string') return schema['format'] === 'date-time' ? 'time' : 'text';
  if (type === 'boolean') return 'flag';
  if (type === 'integer' || type === 'number') return 'number';
  return type === 'array' && items['type'] === 'string' ? 'list' : 'json';
}

const filterOf = (name: string): string | null => /^filter\[(\w+)\]((?:\[\w+\])?)$/.exec(name)?.slice(1).join('') ?? null;

const itemsOf = (operation: Operation, name: string): string[] => {
  const schema = operation.parameters?.find((one) => one.name === name)?.schema as { items?: { enum?: string[] } } | undefined;
  return schema?.items?.enum ?? [];
};

/** What a collection's list takes. */
const listOf = (operation: Operation | undefined): Pick<Collection, 'filters' | 'sorts' | 'includes'> => ({
  filters: (operation?.parameters ?? []).flatMap(({ name, description = '' }) => {
    const filter = filterOf(name);
    return filter === null ? [] : [{ name: filter, description }];
  }),
  sorts: operation ? itemsOf(operation, 'sort').filter((name) => !name.startsWith('-')) : [],
  includes: operation ? itemsOf(operation, 'include').filter((name) => !name.includes('.')) : [],
});

const linkageVerbs = { post: 'add', delete: 'remove', patch: 'replace' } as const;

const fileOf = ({ requestBody, responses }: Operation): Verb['file'] =>
  requestBody?.content['application/x-ndjson'] ? 'taken' : responses['200']?.content?.['application/x-ndjson'] ? 'answered' : undefined;

/** The commands of one address below a record's. */
function verbsOf(reader: Reader, rest: string, operations: Paths[string]): Verb[] {
  const relationship = /^relationships\/(\w+)$/.exec(rest)?.[1];
  return (Object.entries(operations) as [keyof typeof linkageVerbs | 'get' | 'put', Operation][]).flatMap(([method, operation]): Verb[] => {
    const shared = { method: method.toUpperCase() as Verb['method'], path: rest, description: operation.summary };
    if (relationship !== undefined)
      return method === 'get' || method === 'put'
        ? []
        : [{ ...shared, name: `${linkageVerbs[method]}_${relationship}`, linked: reader.linked(operation) }];
    const input = reader.input(operation);
    const many = method === 'get' && reader.isMany(operation) ? reader.shown(operation)?.type : undefined;
    const file = fileOf(operation);
    return rest.includes('/') ? [] : [{ ...shared, name: rest, ...(many ? { many } : {}), ...(input ? { input } : {}), ...(file ? { file } : {}) }]; // prettier-ignore
  });
}

function collectionOf(reader: Reader, path: string, description: string): Collection | null {
  const root = `/api/${path}`;
  const [all, record] = [reader.paths[root] ?? {}, reader.paths[`${root}/{id}`] ?? {}];
  const shown = reader.shown(record.get) ?? reader.shown(all.get);
  if (!shown) return null;
  const below = Object.entries(reader.paths).filter(([address]) => address.startsWith(`${root}/{id}/`));
  return {
    path,
    type: shown.type,
    description,
    shown: shown.members,
    ...listOf(all.get),
    ...(all.get ? { list: true } : {}),
    ...(all.get?.responses['200']?.content?.['text/event-stream'] ? { feed: true } : {}),
    ...(record.get ? { get: true } : {}),
    ...(all.post ? { create: reader.written(all.post) } : {}),
    ...(record.patch ? { update: reader.written(record.patch) } : {}),
    ...(record.delete ? { delete: true } : {}),
    verbs: below.flatMap(([address, operations]) => verbsOf(reader, address.slice(`${root}/{id}/`.length), operations)),
  };
}

/** Every collection and call of the Management API, from its registries by way of the OpenAPI document. */
function commandCatalogue(): CommandCatalogue {
  const reader = new Reader();
  const calls = endpoints.map((one): CallCommand => {
    const operation = reader.paths[`/api/${one.path}`]?.[one.method.toLowerCase() as 'get'];
    const input = operation && reader.input(operation);
    return { words: one.words, method: one.method, path: one.path, summary: one.summary, ...(input ? { input } : {}) };
  });
  const called = new Set(endpoints.map(({ path }) => path));
  const names = Object.keys(reader.paths).flatMap((path) => /^\/api\/(\w+)$/.exec(path)?.[1] ?? []);
  const collections = names
    .filter((name) => !called.has(name))
    .map((name) => collectionOf(reader, name, registry.byPath.get(name)?.description ?? ''))
    .filter((one) => one !== null);
  return { collections, calls };
}

/** The same as text: a line for each member of each collection. */
export function commandsFile(): string {
  const { collections, calls } = commandCatalogue();
  const list = (all: readonly object[]) => `[\n${all.map((one) => JSON.stringify(one)).join(',\n')}\n]`;
  const one = (collection: Collection) => {
    const members = Object.entries(collection).map(
      ([name, value]) =>
        `${JSON.stringify(name)}: ${Array.isArray(value) && typeof value[0] === 'object' ? list(value as object[]) : JSON.stringify(value)}`,
    );
    return `{${members.join(',\n')}}`;
  };
  return `{"collections": [\n${collections.map(one).join(',\n')}\n],\n"calls": ${list(calls)}}\n`;
}
