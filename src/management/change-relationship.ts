import { ApiError } from '../errors.js';
import { admitWrite, targetIdOf } from './admission.js';
import { changesBetween, operationNames, recordDenial } from './audit.js';
import type { Call } from './call.js';
import type { Identifier } from './documents.js';
import { checkArity, resolveTargets } from './input.js';
import { displayOf, requireRecord, write, type WriteOptions } from './operations.js';
import { problem } from './problems.js';
import { targetOf, type Resource } from './resource.js';
import { beginReachCheck, checkTargetsReach } from './reach-check.js';
import { linkedIds } from './written-links.js';

/** Adds to, removes from or replaces a to-many relationship; `read` hands over the linkage that was sent. @throws {ApiError} 400, 403, 404, 409, 412, 422 */
export async function changeRelationship(
  asked: Call,
  resource: Resource,
  id: string,
  name: string,
  how: 'add' | 'remove' | 'replace',
  read: () => Identifier | null | readonly Identifier[],
  options: WriteOptions = {},
): Promise<void> {
  const relationship = resource.relationships[name];
  const entry = { action: operationNames.update(), resource, target_id: targetIdOf(resource, id) };
  await recordDenial(asked, entry, async () => {
    const change = relationship?.kind === 'many' ? relationship.change : undefined;
    const call = await admitWrite(asked, resource, options, change?.needs);
    await requireRecord(call.ctx, resource, id, options);
    const linkage = read();
    const operation = change?.[how];
    if (relationship?.kind !== 'many' || !change || !operation) {
      throw new ApiError(problem(403, 'relationship_read_only', 'This relationship does not support that.'));
    }
    checkArity(relationship, linkage, 'data');
    const targets = await resolveTargets(call, targetOf(call.registry, relationship), linkage as readonly Identifier[], 'data');
    await write(call, {
      entry,
      options,
      async run(inner) {
        const row = await requireRecord(inner.ctx, resource, id, options, true);
        const before = await linkedIds(inner, resource, relationship, row);
        const reach = await beginReachCheck(inner, resource, row, options.needed);
        const touched = [{ touch: change.touch, at: {} }];
        reach.begin(touched);
        const endTargets = await checkTargetsReach(inner, relationship, targets, options.needed);
        await operation(inner.ctx, inner.actor, row, targets);
        await reach.end(row, touched);
        await endTargets();
        const after = await linkedIds(inner, resource, relationship, row);
        return { outcome: null, changes: changesBetween({ [name]: before }, { [name]: after }), target_display: displayOf(resource, row) };
      },
    });
  });
}
