import type { Call } from './call.js';
import { loadRelated } from './related.js';
import { idOf, targetOf, type RelatedRows, type Resource, type Row, type ToMany } from './resource.js';

/** Ids that a to-many relationship holds, for the audit log. */
export async function linkedIds(call: Call, resource: Resource, relationship: ToMany, row: Row): Promise<string[]> {
  const target = targetOf(call.registry, relationship);
  const related = await loadRelated(call.ctx, call.registry, resource, relationship, [row]);
  return (related.get(idOf(resource, row)) ?? []).map((one) => idOf(target, one));
}

/** The same of every to-many relationship that a document names. */
export async function writtenLinks(call: Call, resource: Resource, related: RelatedRows, row: Row): Promise<Row> {
  const links: Row = {};
  for (const name of Object.keys(related)) {
    const relationship = resource.relationships[name];
    if (relationship?.kind === 'many') links[name] = await linkedIds(call, resource, relationship, row);
  }
  return links;
}
