import { isDeepStrictEqual } from 'node:util';
import { holdsEverything, noReach, requireReach, union, type Reach, type Touched } from '../domain/reach/reach.js';
import type { Call } from './call.js';
import { targetOf, type RelatedRows, type Resource, type Row, type ToMany } from './resource.js';

/**
 * What a write takes beside the permission of its collection, by the reach of the records before and after it (`domain/reach/reach.ts`). Every
 * operation of the Management API and of the dashboard passes here, inside its transaction.
 */
export type ReachCheck = {
  /** Before the change: checks the attributes that it is known to touch. @throws {Refusal} 403 */
  begin(touched: readonly Touched[]): void;
  /** After the change: checks the reach of the record, null when it was deleted. @throws {Refusal} 403 */
  end(row: Row | null, touched: readonly Touched[]): Promise<void>;
};

const nothingToWeigh: ReachCheck = { begin: () => undefined, end: async () => undefined };

/**
 * Computes the reach of a record before it is changed; `row` null: a new one. Skipped for actors who hold every permission, unless `needed` collects
 * the permissions that the change needs. A removal counts what goes, or opens, with the record.
 */
export async function beginReachCheck(
  call: Call,
  resource: Resource,
  row: Row | null,
  needed?: Set<string>,
  isRemoval = false,
): Promise<ReachCheck> {
  if (needed === undefined && holdsEverything(call.actor)) return nothingToWeigh;
  const own = row === null ? noReach : await resource.reach.of(call.ctx, row);
  const before = row && isRemoval && resource.reach.removed ? union(own, await resource.reach.removed(call.ctx, row)) : own;
  const decide = (after: Reach, touched: readonly Touched[]) => {
    for (const name of requireReach(call.actor, { before, after, touched })) needed?.add(name);
  };
  return {
    begin: (touched) => decide(before, touched),
    end: async (after, touched) => decide(after === null ? noReach : await resource.reach.of(call.ctx, after), touched),
  };
}

/** The effect of an attribute or relationship on reach; an unclassified one counts as `everything`. */
function touchedBy(resource: Resource, name: string): Touched {
  const relationship = resource.relationships[name];
  if (relationship) {
    const touch = relationship.kind === 'many' ? (relationship.change?.touch ?? 'everything') : 'plain';
    return { touch, at: { relationship: name } };
  }
  return { touch: resource.reach.attributes[name] ?? 'everything', at: { attribute: name } };
}

/** What of a new record was given. */
export function touchedByCreation(resource: Resource, attributes: Row, related: RelatedRows): Touched[] {
  // A new record takes nothing from anybody: only its resulting reach is checked.
  return [...Object.keys(attributes), ...Object.keys(related)]
    .map((name) => touchedBy(resource, name))
    .filter(({ touch }) => touch !== 'everything');
}

/**
 * What differs between two states of a record, as answers show it, and what was sent of what they don't show.
 * @param sent names of the attributes in the request
 */
export function touchedBetween(resource: Resource, before: Row, after: Row, sent: Iterable<string>): Touched[] {
  const asSet = (name: string, value: unknown) =>
    Object.hasOwn(resource.relationships, name) && Array.isArray(value) ? new Set(value) : value;
  const names = new Set(Object.keys(after).filter((name) => !isDeepStrictEqual(asSet(name, before[name]), asSet(name, after[name]))));
  for (const name of sent) if (!Object.hasOwn(after, name)) names.add(name);
  const known = [...names].filter((name) => Object.hasOwn(resource.reach.attributes, name) || Object.hasOwn(resource.relationships, name));
  return known.map((name) => touchedBy(resource, name));
}

/** Checks the reach of each target of a relationship change that affects the targets too. */
export async function checkTargetsReach(
  call: Call,
  relationship: ToMany,
  targets: readonly Row[],
  needed?: Set<string>,
): Promise<() => Promise<void>> {
  const touch = relationship.change?.targets;
  if (touch === undefined) return async () => undefined;
  const resource = targetOf(call.registry, relationship);
  const touched = [{ touch, at: {} }];
  const checks: { row: Row; reach: ReachCheck }[] = [];
  for (const row of targets) checks.push({ row, reach: await beginReachCheck(call, resource, row, needed) });
  for (const { reach } of checks) reach.begin(touched);
  return async () => {
    for (const { row, reach } of checks) await reach.end(row, touched);
  };
}
