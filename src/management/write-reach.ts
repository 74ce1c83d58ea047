import { holdsEverything, noReach, requireReach, union, type Reach, type Touched } from '../domain/reach/reach.js';
import type { Call } from './call.js';
import { attributesOf } from './documents.js';
import { loadRelated } from './related.js';
import { idOf, targetOf, type RelatedRows, type Resource, type ResourceRow, type ToMany } from './resource.js';
import { changedBy, writeKinds, type CheckedInput } from './write-kinds.js';
import type { State, Weighed } from './write-state.js';

/** A record as answers show it, with the ids of the to-many relationships that the write names, for the audit log. */
export async function shown({ call, write, checked }: State, row: ResourceRow): Promise<ResourceRow> {
  const { resource } = write;
  const links: ResourceRow = {};
  for (const name of Object.keys(checked?.related ?? {})) {
    const relationship = resource.relationships[name];
    if (relationship?.kind !== 'many') continue;
    const related = await loadRelated(call.ctx, call.registry, resource, relationship, [row]);
    links[name] = (related.get(idOf(resource, row)) ?? []).map((one) => idOf(targetOf(call.registry, relationship), one));
  }
  return changedBy(write) ? links : { ...attributesOf(call, resource, row), ...links };
}

/** Ids that a document names, by to-many relationship, as `shown` tells those that are there. */
const namedLinks = (call: Call, resource: Resource, related: RelatedRows): ResourceRow =>
  Object.fromEntries(
    Object.entries(related).flatMap(([name, rows]) => {
      const one = resource.relationships[name];
      if (one?.kind !== 'many' || !Array.isArray(rows)) return [];
      return [[name, (rows as readonly ResourceRow[]).map((row) => idOf(targetOf(call.registry, one), row))]];
    }),
  );

/**
 * Computes how far a record reaches before it is changed; `row` null: a new one.
 * @param touched what the write touches of it, whatever becomes of it; null where that follows from what was changed
 */
async function weigh(call: Call, resource: Resource, row: ResourceRow | null, touched: Weighed['touched'] = null): Promise<Weighed> {
  return { resource, row, before: row === null ? noReach : await resource.reach.of(call.ctx, row), touched };
}

/** What goes, or opens, with a record that is removed, or by what is touched of it. */
async function besides({ call, write, row }: State, touched: readonly Touched[]): Promise<Reach> {
  const { removed, changed } = write.resource.reach;
  if (row === null) return noReach;
  const reaches = write.kind === 'delete' ? [removed] : touched.map(({ at }) => changed?.[at.attribute ?? '']);
  let taken = noReach;
  for (const reach of reaches) if (reach) taken = union(taken, await reach(call.ctx, row));
  return taken;
}

async function weighTargets(call: Call, relationship: ToMany | undefined, targets: readonly ResourceRow[]): Promise<Weighed[]> {
  const touch = relationship?.change?.targets;
  if (!relationship || touch === undefined) return [];
  const weighed: Weighed[] = [];
  for (const row of targets) weighed.push(await weigh(call, targetOf(call.registry, relationship), row, [{ touch, at: {} }]));
  return weighed;
}

const touchesOf = ({ write, checked }: State, before: ResourceRow, after: ResourceRow) =>
  writeKinds[write.kind].touches(write, checked as CheckedInput, { before, after });

/** Decides about the reach of each record that the write concerns. @throws {Refusal} 403 `scope_escalation` */
function decide({ call, needed }: State, weighed: Weighed, after: Reach, touched: readonly Touched[]): void {
  const change = { before: weighed.before, after, touched: weighed.touched ?? touched };
  for (const name of requireReach(call.actor, change)) needed?.add(name);
}

/** What a write takes by how far its records reach (`domain/reach/reach.ts`): first what it is known to touch. */
export async function reach(state: State): Promise<Partial<State>> {
  const { call, write, row, checked, needed } = state;
  const { attributes, related } = checked as CheckedInput;
  const before = row === null ? {} : await shown(state, row);
  if (needed === undefined && holdsEverything(call.actor)) return { before };
  const after = { ...before, ...attributes, ...namedLinks(call, write.resource, related) };
  const touched = touchesOf(state, before, after);
  const own = await weigh(call, write.resource, row);
  const first = { ...own, before: union(own.before, await besides(state, touched)) };
  const relationship = changedBy(write);
  const targets = relationship ? await weighTargets(call, relationship, related[write.name ?? ''] as readonly ResourceRow[]) : [];
  const weighed = [first, ...targets];
  for (const one of weighed) decide(state, one, one.before, touched);
  return { before, weighed };
}

/** Then how far they have come to reach. */
export async function reachAfterwards(state: State): Promise<Partial<State>> {
  const { call, write, outcome, before, after } = state;
  if (write.kind === 'create' && write.resource.reach.create === 'plain') return {};
  const touched = touchesOf(state, before, after);
  for (const one of state.weighed) {
    const isOwn = one.touched === null;
    const now = isOwn && outcome?.resource === write.resource ? outcome.row : one.row;
    const gone = isOwn && write.kind === 'delete';
    decide(state, one, gone || now === null ? noReach : await one.resource.reach.of(call.ctx, now), touched);
  }
  return {};
}
