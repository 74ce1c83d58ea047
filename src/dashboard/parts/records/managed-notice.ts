import { findManaged } from '../../../db/tables/configurations.js';
import { dateTimeWords } from '../../../lib/date-words.js';
import type { Call } from '../../../management/call.js';
import { isKindName } from '../../../management/configuration/kinds.js';
import type { Part } from '../page-parts.js';

/** Which of the records the configuration document manages that was last applied (specification 15.1.11). */
export const managedIds = async ({ ctx }: Pick<Call, 'ctx'>, type: string, ids: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set(isKindName(type) && ids.length > 0 ? (await findManaged(ctx.scope, type, ids)).ids : []);

/** Says of a record that a document manages it, so that nobody wonders where a change by hand went. */
export async function managedNotice({ ctx }: Pick<Call, 'ctx'>, type: string, id: string): Promise<Part[]> {
  if (!isKindName(type)) return [];
  const { ids, applied_at, actor_display } = await findManaged(ctx.scope, type, [id]);
  if (ids.length === 0) return [];
  const text = `A configuration document manages this; ${actor_display} applied it on ${dateTimeWords(applied_at.toISOString())}. Changes here show up as drift, and applying the document again reverts them.`;
  return [{ kind: 'notice', tone: 'info', text }];
}
