import { holdsEverything, lackedBy } from '../../../domain/reach/reach.js';
import { reachElsewhere } from '../../../domain/reach/reach-of.js';
import type { Call } from '../../../management/call.js';
import { findRecord } from '../../../management/records.js';
import type { Resource } from '../../../management/resource.js';
import type { FieldSpec } from './presentation.js';
import { listed } from '../texts.js';

/** What a page says of a record that reaches further than whoever looks at it; null for all others. */
export async function reachNote({ ctx, actor }: Call, resource: Resource, id: string): Promise<string | null> {
  if (holdsEverything(actor)) return null;
  const row = await findRecord(ctx, resource, id);
  const reach = row ? await resource.reach.of(ctx, row) : [];
  const missing = lackedBy({ ...actor, elsewhere: await reachElsewhere(ctx, actor) }, reach);
  if (missing.length === 0) return null;
  return `This has more access than you: it can use ${listed(missing)}, which you don’t have. You can only change settings that don’t affect its access.`;
}

/** Whether the actor may set the relationship of a field: some take a permission of their own. */
export function mayLink(call: Call, resource: Resource, spec: FieldSpec): boolean {
  const relationship = Object.hasOwn(resource.relationships, spec.name) ? resource.relationships[spec.name] : undefined;
  if (!spec.relationship || relationship?.kind !== 'many') return true;
  return (relationship.change?.needs ?? []).every((name) => call.actor.permissions.has(name));
}
