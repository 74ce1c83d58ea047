import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { Problem } from '../domain/refusal.js';
import { ApiError, type ApiErrorObject } from '../errors.js';
import type { Call } from './call.js';
import { attributesOf, type Identifier } from './documents.js';
import { fromProblems, invalidAttributes, invalidMeta, maxErrors, pointerTo, problem, refuse } from './problems.js';
import { findRecords } from './records.js';
import { idOf, targetOf, type RelatedRows, type Relationship, type Resource, type ResourceRow } from './resource.js';
import { parseMeasured } from '../lib/measured.js';
import { named } from '../lib/named.js';

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a document wants to create or change, its structure checked. */
export type Input = {
  /** Undefined when the document had no such member. */
  readonly attributes: Json | undefined;
  readonly relationships: Readonly<Record<string, Identifier | null | readonly Identifier[]>>;
  /** The whole document, which error pointers refer to. */
  readonly document: Json;
};

const malformed = (detail: string, ...path: (string | number)[]): ApiError => refuse(400, 'malformed_document', detail, pointerTo(...path));

function readIdentifier(value: unknown, ...path: (string | number)[]): Identifier {
  if (!isObject(value)) throw malformed('A resource identifier must be an object.', ...path);
  for (const member of ['type', 'id'] as const) {
    if (value[member] === undefined) throw malformed(`A resource identifier needs "${member}".`, ...path);
    if (typeof value[member] !== 'string') throw malformed(`"${member}" must be a string.`, ...path, member);
  }
  return { type: value['type'] as string, id: value['id'] as string };
}

function parseLinkage(value: unknown, ...path: (string | number)[]): Identifier | null | readonly Identifier[] {
  if (value === null) return null;
  if (!Array.isArray(value)) return readIdentifier(value, ...path);
  return value.map((one, index) => readIdentifier(one, ...path, index));
}

function readRelationships(value: unknown): Input['relationships'] {
  if (value === undefined) return {};
  if (!isObject(value)) throw malformed('"relationships" must be an object.', 'data', 'relationships');
  return Object.fromEntries(
    Object.entries(value).map(([name, relationship]) => {
      const path = ['data', 'relationships', name];
      if (!isObject(relationship) || relationship['data'] === undefined) throw malformed('A relationship needs "data".', ...path);
      return [name, parseLinkage(relationship['data'], ...path, 'data')];
    }),
  );
}

/** The resource object of a document. `id` is the one of the URL, or null for a creation. @throws {ApiError} 400, 403, 409 */
export function readInput(document: Json, resource: Resource, id: string | null): Input {
  const data = document['data'];
  if (data === undefined) throw refuse(400, 'malformed_document', 'The document needs "data".', { pointer: '' });
  if (!isObject(data)) throw malformed('"data" must be one resource object.', 'data');
  if (data['type'] === undefined) throw malformed('A resource object needs "type".', 'data');
  if (typeof data['type'] !== 'string') throw malformed('"type" must be a string.', 'data', 'type');
  if (data['id'] !== undefined && typeof data['id'] !== 'string') throw malformed('"id" must be a string.', 'data', 'id');
  if (id !== null && data['id'] === undefined) throw malformed('An update needs the "id" of the resource.', 'data');
  if (data['attributes'] !== undefined && !isObject(data['attributes']))
    throw malformed('"attributes" must be an object.', 'data', 'attributes');
  const relationships = readRelationships(data['relationships']);
  if (data['type'] !== resource.type) {
    throw refuse(409, 'type_mismatch', `This collection holds resources of the type "${resource.type}".`, pointerTo('data', 'type'), {
      expected: resource.type,
    });
  }
  if (id === null && data['id'] !== undefined)
    throw refuse(403, 'client_id_forbidden', 'The service makes the ids; leave "id" out.', pointerTo('data', 'id'));
  if (id !== null && data['id'] !== id)
    throw refuse(409, 'id_mismatch', 'The "id" is not that of the URL.', pointerTo('data', 'id'), { expected: id });
  return { attributes: data['attributes'] as Json | undefined, relationships, document };
}

/** The linkage of a document that changes a relationship. @throws {ApiError} 400 */
export function linkageOf(document: Json): Identifier | null | readonly Identifier[] {
  if (document['data'] === undefined) throw refuse(400, 'malformed_document', 'The document needs "data".', { pointer: '' });
  return parseLinkage(document['data'], 'data');
}

/** The top-level `meta` of a document that an action reads. @throws {ApiError} 400, 422 */
export function readMeta(schema: z.ZodObject, document: Json): ResourceRow {
  const { meta } = document;
  if (meta === undefined) throw refuse(400, 'malformed_document', 'The document needs "meta".', { pointer: '' });
  if (!isObject(meta)) throw malformed('"meta" must be an object.', 'meta');
  const parsed = parseMeasured(schema, meta);
  if (!parsed.success) throw invalidMeta(parsed.issues, meta);
  return parsed.data;
}

/** The records that identifiers name. @throws {ApiError} 409 for a foreign type, 404 for what doesn't exist */
export async function resolveTargets(
  call: Call,
  target: Resource,
  linkage: Identifier | readonly Identifier[],
  ...path: (string | number)[]
): Promise<ResourceRow[]> {
  const identifiers = Array.isArray(linkage) ? (linkage as readonly Identifier[]) : [linkage as Identifier];
  const at = (index: number) => (Array.isArray(linkage) ? [...path, index] : path);
  const wrong = identifiers.findIndex((one) => one.type !== target.type);
  if (wrong >= 0)
    throw refuse(409, 'type_mismatch', `This relationship is to resources of the type "${target.type}".`, pointerTo(...at(wrong), 'type'), {
      expected: target.type,
    });
  const found = new Map(
    (
      await findRecords(
        call.ctx,
        target,
        identifiers.map((one) => one.id),
      )
    ).map((row) => [idOf(target, row), row]),
  );
  const missing = identifiers.findIndex((one) => !found.has(one.id));
  if (missing >= 0) throw refuse(404, 'related_not_found', `There is no such ${target.type}.`, pointerTo(...at(missing)));
  return [...found.values()];
}

const maxTargets = 500;

/** Refuses linkage of the wrong arity, and more of it than one request may name. @throws {ApiError} 400, 422 */
export function checkArity(
  relationship: Relationship,
  linkage: Identifier | null | readonly Identifier[],
  ...path: (string | number)[]
): void {
  const many = Array.isArray(linkage);
  if (relationship.kind === 'many' && !many) throw malformed('A to-many relationship takes an array.', ...path);
  if (relationship.kind === 'one' && many) throw malformed('A to-one relationship takes one identifier or null.', ...path);
  if (many && linkage.length > maxTargets)
    throw refuse(422, 'too_many_targets', `At most ${maxTargets} resources can be named at once.`, pointerTo(...path));
}

/** The related records of a document. @throws {ApiError} 400, 403, 404, 409, 422 */
async function resolveRelationships(call: Call, resource: Resource, input: Input, row: ResourceRow | null): Promise<RelatedRows> {
  const related: Record<string, ResourceRow | null | readonly ResourceRow[]> = named();
  for (const [name, linkage] of Object.entries(input.relationships)) {
    const path = ['data', 'relationships', name] as const;
    const relationship = Object.hasOwn(resource.relationships, name) ? resource.relationships[name] : undefined;
    if (!relationship)
      throw refuse(422, 'unknown_relationship', `A ${resource.type} has no relationship "${name.slice(0, 100)}".`, pointerTo(...path));
    checkArity(relationship, linkage, ...path, 'data');
    const target = targetOf(call.registry, relationship);
    if (relationship.kind === 'many') {
      if (!relationship.write)
        throw refuse(403, 'relationship_read_only', 'This relationship can not be replaced here.', pointerTo(...path));
      related[name] = await resolveTargets(call, target, linkage as readonly Identifier[], ...path, 'data');
      continue;
    }
    const one = linkage as Identifier | null;
    if (row === null ? !relationship.create : !relationship.later) {
      const current = row === null ? undefined : row[relationship.column];
      if (row === null || String((current ?? '') as string) !== (one?.id ?? ''))
        throw refuse(403, 'relationship_read_only', 'This relationship can not be set or changed.', pointerTo(...path));
      continue;
    }
    related[name] = one === null ? null : ((await resolveTargets(call, target, one, ...path, 'data'))[0] ?? null);
  }
  return related;
}

/** Relationships that a creation needs and doesn't have. */
function missingRelationships(resource: Resource, related: RelatedRows, document: Json): ApiErrorObject[] {
  const data = document['data'] as Json;
  return Object.entries(resource.relationships)
    .filter(([name, relationship]) => relationship.kind === 'one' && relationship.create === 'required' && (related[name] ?? null) === null)
    .map(([name]) => {
      const pointer = !isObject(data['relationships'])
        ? ['data']
        : Object.hasOwn(data['relationships'], name)
          ? ['data', 'relationships', name]
          : ['data', 'relationships'];
      return problem(422, 'required', `The relationship "${name}" is required.`, pointerTo(...pointer), { field: name });
    });
}

type Problems = (wellFormed: ResourceRow) => readonly Problem[] | Promise<readonly Problem[]>;

const topOf = ({ attribute }: Problem) => (typeof attribute === 'string' ? attribute : attribute?.[0]);

/**
 * The attributes by their schema and the rules of the resource. All that is wrong is told at once: what the schema refuses, and what the rules
 * say about the rest. @throws {ApiError} 422
 */
async function checkedAttributes(
  schema: z.ZodObject,
  sent: Json,
  problems: Problems,
  input: Input,
  missing: readonly ApiErrorObject[],
): Promise<ResourceRow> {
  const parsed = parseMeasured(schema, sent);
  const malformed = new Set<unknown>(parsed.success ? [] : parsed.issues.map(({ path }) => path[0]));
  const known = Object.entries(sent).filter(([name]) => Object.hasOwn(schema.shape, name) && !malformed.has(name));
  const found = await problems(parsed.success ? parsed.data : Object.fromEntries(known));
  const ruled = found.filter((one) => !malformed.has(topOf(one)));
  if (parsed.success && ruled.length === 0 && missing.length === 0) return parsed.data;
  const errors = parsed.success ? [] : invalidAttributes(parsed.issues, input.attributes).errors;
  throw new ApiError([...errors, ...fromProblems(ruled, input.document).errors, ...missing].slice(0, maxErrors));
}

/** The attributes of a creation. @throws {ApiError} 422 */
async function createAttributes(call: Call, resource: Resource, input: Input, missing: readonly ApiErrorObject[]): Promise<ResourceRow> {
  const { create } = resource;
  if (!create) throw new Error(`${resource.path} can not be created`);
  return checkedAttributes(create.schema, input.attributes ?? {}, (found) => create.problems?.(call.ctx, found) ?? [], input, missing);
}

type Read = { readonly attributes: ResourceRow; readonly related: RelatedRows };

/** What a new record is made of. @throws {ApiError} 403, 404, 409, 422 */
export async function readCreation(call: Call, resource: Resource, input: Input): Promise<Read> {
  resource.create?.allow?.(call.ctx, call.actor);
  const related = await resolveRelationships(call, resource, input, null);
  return { attributes: await createAttributes(call, resource, input, missingRelationships(resource, related, input.document)), related };
}

/**
 * The attributes of an update. A read-only attribute may be sent along with its current value, as clients do that send whole
 * records back. @throws {ApiError} 403, 422
 */
async function updateAttributes(call: Call, resource: Resource, row: ResourceRow, input: Input): Promise<ResourceRow> {
  const { update } = resource;
  const schema = update?.schema;
  const sent = { ...input.attributes };
  const current = attributesOf(call, resource, row);
  for (const name of Object.keys(sent)) {
    if (schema && Object.hasOwn(schema.shape, name)) continue;
    if (!Object.hasOwn(resource.attributes.shape, name) && !Object.hasOwn(resource.create?.schema.shape ?? {}, name)) continue;
    if (!Object.hasOwn(current, name) || !isDeepStrictEqual(current[name], sent[name])) {
      throw refuse(403, 'attribute_read_only', `"${name}" can not be changed.`, pointerTo('data', 'attributes', name));
    }
    delete sent[name];
  }
  if (!update) throw new Error(`${resource.path} can not be updated`);
  return checkedAttributes(
    update.schema,
    sent,
    (found) => update.problems?.(call.ctx, found, row) ?? [],
    { ...input, attributes: input.attributes ?? {} },
    [],
  );
}

/** What a record is changed to. @throws {ApiError} 403, 404, 409, 422 */
export async function readUpdate(call: Call, resource: Resource, row: ResourceRow, input: Input): Promise<Read> {
  const related = await resolveRelationships(call, resource, input, row);
  return { attributes: await updateAttributes(call, resource, row, input), related };
}
