import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../errors.js';
import type { Touched } from '../domain/reach/reach.js';
import type { Call } from './call.js';
import { operationNames } from './audit.js';
import { requirePermissions } from './authorize.js';
import { checkArity, linkageOf, readCreation, readInput, readMeta, readUpdate, resolveTargets, type Input } from './input.js';
import { problem } from './problems.js';
import { ownInput, requireRoom } from './within-organization.js';
import { targetOf, type RelatedRows, type Resource, type ResourceRow, type ToMany, type Written } from './resource.js';

export type Operation = {
  readonly kind: 'create' | 'update' | 'delete' | 'act' | 'add' | 'remove' | 'replace';
  readonly resource: Resource;
  /** Of the record; null for a new one. */
  readonly id: string | null;
  /** The verb of an action, or the name of a relationship. */
  readonly name?: string;
};

export type CheckedInput = {
  /** The attributes, or the `meta` of an action. */
  readonly attributes: ResourceRow;
  readonly related: RelatedRows;
  /** Permissions that the named relationships take: the same as through their own URLs. */
  readonly needs: readonly string[];
};

type States = { readonly before: ResourceRow; readonly after: ResourceRow };

/** What distinguishes one kind of write from another; the steps of `write-steps.ts` are those of all. */
type Kind = {
  /** What the audit log calls it. */
  action(one: Operation): string;
  /** Permissions that it takes beside that of writing the collection. */
  needs(one: Operation): readonly string[];
  /** Whether something has to be made for it that must not be made inside a transaction. */
  preparesFor(one: Operation, sent: ResourceRow): boolean;
  /** Reads what was sent for the record as it is. @throws {ApiError | Refusal} 400, 403, 404, 409, 422 */
  check(call: Call, one: Operation, document: ResourceRow, row: ResourceRow | null): Promise<CheckedInput>;
  prepare(call: Call, one: Operation, row: ResourceRow | null, checked: CheckedInput): Promise<unknown>;
  /** What it touches of the record, by what differs between two states where that decides. */
  touches(one: Operation, checked: CheckedInput, states: States): Touched[];
  run(tx: Call, one: Operation, row: ResourceRow | null, checked: CheckedInput, prepared: unknown): Promise<Written<ResourceRow>>;
};

/** The effect of an attribute or relationship on reach; an unclassified one counts as `everything`. */
function touchedBy(resource: Resource, name: string): Touched {
  const relationship = resource.relationships[name];
  if (relationship) {
    const touch = relationship.kind === 'many' ? (relationship.change?.touch ?? 'everything') : (relationship.later ?? 'plain');
    return { touch, at: { relationship: name } };
  }
  return { touch: resource.reach.attributes[name] ?? 'everything', at: { attribute: name } };
}

function touchedByCreation(resource: Resource, attributes: ResourceRow, related: RelatedRows): Touched[] {
  // A new record takes nothing from anybody: only its resulting reach is checked.
  return [...Object.keys(attributes), ...Object.keys(related)]
    .map((name) => touchedBy(resource, name))
    .filter(({ touch }) => touch !== 'everything');
}

/**
 * What differs between two states of a record, as answers show it, and what was sent of what they don't show.
 * @param sent names of the attributes in the request
 */
function touchedBetween(resource: Resource, before: ResourceRow, after: ResourceRow, sent: Iterable<string>): Touched[] {
  const asSet = (name: string, value: unknown) =>
    Object.hasOwn(resource.relationships, name) && Array.isArray(value) ? new Set(value) : value;
  const names = new Set(Object.keys(after).filter((name) => !isDeepStrictEqual(asSet(name, before[name]), asSet(name, after[name]))));
  for (const name of sent) if (!Object.hasOwn(after, name)) names.add(name);
  const known = [...names].filter((name) => Object.hasOwn(resource.reach.attributes, name) || Object.hasOwn(resource.relationships, name));
  return known.map((name) => touchedBy(resource, name));
}

const emptyInput: CheckedInput = { attributes: {}, related: {}, needs: [] };

/** The member of a resource that an operation goes by. @throws when the resource has none: no route leads there */
function memberOf<T>({ kind, resource, name = '' }: Operation, member: T | undefined): T {
  if (member === undefined) throw new Error(`${resource.path} have no ${kind} ${name}`);
  return member;
}

const creationOf = (one: Operation) => memberOf(one, one.resource.create);
const updateOf = (one: Operation) => memberOf(one, one.resource.update);
const removalOf = (one: Operation) => memberOf(one, one.resource.remove);
const actionOf = (one: Operation) => memberOf(one, one.resource.actions?.[one.name ?? '']);

export function changedBy({ kind, resource, name = '' }: Operation): ToMany | undefined {
  const one = writeKinds[kind] === relationship ? resource.relationships[name] : undefined;
  return one?.kind === 'many' ? one : undefined;
}

const holdsAny = (sent: ResourceRow, names: readonly string[] | undefined) =>
  names === undefined || names.some((name) => Object.hasOwn(sent, name));

/** What the relationships of a document take, which the caller must hold. @throws {ApiError} 403 */
function requireLinkPermissions(call: Call, { relationships }: Resource, input: Input): readonly string[] {
  const needs = Object.keys(input.relationships).flatMap((name) => {
    const one = Object.hasOwn(relationships, name) ? relationships[name] : undefined;
    return one?.kind === 'many' ? (one.change?.needs ?? []) : [];
  });
  requirePermissions(call, ...needs);
  return needs;
}

const create: Kind = {
  action: ({ resource }) => operationNames.create(resource),
  needs: () => [],
  preparesFor: (one, sent) => creationOf(one).prepare !== undefined && holdsAny(sent, creationOf(one).prepareFor),
  async check(call, { resource }, document) {
    const input = ownInput(call, resource, readInput(document, resource, null), true);
    const needs = requireLinkPermissions(call, resource, input);
    return { ...(await readCreation(call, resource, input)), needs };
  },
  prepare: async ({ ctx, actor }, one, _row, { attributes, related }) => creationOf(one).prepare?.(ctx, actor, attributes, related),
  touches({ resource }, { attributes, related }) {
    const { create: touch } = resource.reach;
    return touch === 'everything' ? [{ touch, at: {} }] : touchedByCreation(resource, attributes, related);
  },
  async run(call, one, _row, { attributes, related }, prepared) {
    await requireRoom(call, one.resource);
    return creationOf(one).run(call.ctx, call.actor, attributes, related, prepared);
  },
};

const update: Kind = {
  action: operationNames.update,
  needs: () => [],
  preparesFor: (one, sent) => updateOf(one).prepare !== undefined && holdsAny(sent, updateOf(one).prepareFor),
  async check(call, { resource, id }, document, row) {
    const input = ownInput(call, resource, readInput(document, resource, id), false);
    const needs = requireLinkPermissions(call, resource, input);
    return { ...(await readUpdate(call, resource, row as ResourceRow, input)), needs };
  },
  prepare: async ({ ctx, actor }, one, row, { attributes, related }) =>
    updateOf(one).prepare?.(ctx, actor, row as ResourceRow, attributes, related),
  touches: ({ resource }, { attributes, related }, { before, after }) => {
    const links = Object.keys(related).filter((name) => resource.relationships[name]?.kind === 'one');
    return touchedBetween(resource, before, after, [...Object.keys(attributes), ...links]);
  },
  run: ({ ctx, actor }, one, row, { attributes, related }, prepared) =>
    updateOf(one).run(ctx, actor, row as ResourceRow, attributes, related, prepared),
};

const remove: Kind = {
  action: ({ resource }) => operationNames.remove(resource),
  needs: () => [],
  preparesFor: () => false,
  check: async () => emptyInput,
  prepare: async () => undefined,
  touches: ({ resource }) => [{ touch: resource.reach.remove ?? 'control', at: {} }],
  async run({ ctx, actor }, one, row) {
    await removalOf(one).run(ctx, actor, row as ResourceRow);
    return { row: row as ResourceRow };
  },
};

const act: Kind = {
  action: ({ resource, name = '' }) => operationNames.act(resource, name),
  needs: (one) => actionOf(one).needs ?? [],
  preparesFor: (one) => actionOf(one).prepare !== undefined,
  async check(_call, one, document) {
    const { input } = actionOf(one);
    return input ? { ...emptyInput, attributes: readMeta(input, document) } : emptyInput;
  },
  prepare: async ({ ctx, actor }, one, row, { attributes }) => actionOf(one).prepare?.(ctx, actor, row as ResourceRow, attributes),
  touches: (one) => [{ touch: actionOf(one).touch, at: {} }],
  run: ({ ctx, actor }, one, row, { attributes }, prepared) => actionOf(one).run(ctx, actor, row as ResourceRow, attributes, prepared),
};

const relationship: Kind = {
  action: operationNames.update,
  needs: (one) => changedBy(one)?.change?.needs ?? [],
  preparesFor: () => false,
  async check(call, one, document) {
    const linkage = linkageOf(document);
    const changed = changedBy(one);
    if (!changed?.change || (one.kind === 'replace' && !changed.change.replaces))
      throw new ApiError(problem(403, 'relationship_read_only', 'This relationship does not support that.'));
    checkArity(changed, linkage, 'data');
    const targets = await resolveTargets(call, targetOf(call.registry, changed), linkage as never, 'data');
    return { ...emptyInput, related: { [one.name ?? '']: targets } };
  },
  prepare: async () => undefined,
  touches: (one) => [{ touch: changedBy(one)?.change?.touch ?? 'everything', at: {} }],
  async run({ ctx, actor }, one, row, { related }) {
    await memberOf(one, changedBy(one)?.change).run(ctx, actor, row as ResourceRow, { [one.kind]: related[one.name ?? ''] });
    return { row: row as ResourceRow };
  },
};

export const writeKinds: Readonly<Record<Operation['kind'], Kind>> = {
  create,
  update,
  delete: remove,
  act,
  add: relationship,
  remove: relationship,
  replace: relationship,
};

export function answeredBy(call: Call, one: Operation): Resource {
  const type = one.kind === 'act' ? actionOf(one).answers : undefined;
  return (type === undefined ? undefined : call.registry.byType.get(type)) ?? one.resource;
}
