import { findConfiguration, type ConfigurationRow } from '../../db/tables/configurations.js';
import { permissionFor, type ResourceRow } from '../resource.js';
import { documentKinds } from './kinds.js';
import { kindsDescribedIn } from './listed.js';
import { documentPointer, type Run } from './run.js';

/** What it takes to keep a document: to write all that it describes, and all that the former describes, of which nobody is told any more. */
function permissionsToKeep(document: ResourceRow, before: ConfigurationRow | null): string[] {
  const kinds = new Set([...kindsDescribedIn(document), ...kindsDescribedIn(before?.document ?? {})]);
  return [...(kinds.size > 0 ? kinds : [documentKinds.environment])].map(({ resource }) => permissionFor(resource, 'write'));
}

/** The document that was last applied, and whether another may take its place. */
export type WeighedDocument = { readonly before: ConfigurationRow | null; readonly mayKeep: boolean };

/** The former document, and whether this one may take its place; if not, a warning tells. */
export async function weighKeeping(run: Run, document: ResourceRow): Promise<WeighedDocument> {
  const before = await findConfiguration(run.call.ctx.scope);
  const lacked = permissionsToKeep(document, before).filter((one) => !run.call.actor.permissions.has(one));
  if (lacked.length > 0) {
    const detail = `Drift is compared with the former document still: to take its place is to write all that either describes, which takes ${lacked.join(', ')}.`;
    run.warnings.push({ code: 'document_not_kept', detail, ...documentPointer([]) });
  }
  return { before, mayKeep: lacked.length === 0 };
}
