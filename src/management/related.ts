import type { Context } from '../domain/context.js';
import { matches } from '../db/lists/conditions.js';
import { findLinks, findRows } from '../db/lists/list.js';
import type { Condition } from '../db/lists/list-source.js';
import { findRecords } from './records.js';
import { idOf, targetOf, type ResourceRegistry, type Relationship, type Resource, type ResourceRow, type ToMany } from './resource.js';

export function relatedTo(resource: Resource, row: ResourceRow, relationship: ToMany, target: Resource): Condition {
  const id = idOf(resource, row);
  const { by } = relationship;
  if ('foreign' in by) return matches(`${target.source.table}.${by.foreign} = ?`, [id]);
  const { table } = target.source;
  return matches(
    `exists (select 1 from ${by.table} l where l.environment_id = ${table}.environment_id and l.${by.near} = ? and l.${by.far} = ${table}.${target.source.key})`,
    [id],
  );
}

/** The targets of one relationship for many records: one or two statements, however many records there are. */
export async function loadRelated(
  ctx: Context,
  registry: ResourceRegistry,
  resource: Resource,
  relationship: Relationship,
  rows: readonly ResourceRow[],
): Promise<Map<string, ResourceRow[]>> {
  const target = targetOf(registry, relationship);
  const related = new Map<string, ResourceRow[]>(rows.map((row) => [idOf(resource, row), []]));
  const add = (near: string, row: ResourceRow | undefined) => void (row && related.get(near)?.push(row));
  const byId = (found: readonly ResourceRow[]) => new Map(found.map((row) => [idOf(target, row), row]));
  if (relationship.kind === 'one') {
    const ids = rows.map((row) => row[relationship.column]).filter((id) => id !== null && id !== undefined);
    const found = byId(await findRecords(ctx, target, ids.map(String)));
    for (const row of rows) add(idOf(resource, row), found.get(String(row[relationship.column])));
  } else if ('foreign' in relationship.by) {
    const { foreign } = relationship.by;
    for (const row of await findRows(ctx.scope, target.source, foreign, [...related.keys()])) add(String(row[foreign]), row);
  } else {
    const links = await findLinks(ctx.scope, relationship.by, [...related.keys()]);
    const found = byId(
      await findRecords(
        ctx,
        target,
        links.map((link) => link.far),
      ),
    );
    for (const link of links) add(link.near, found.get(link.far));
  }
  return related;
}
