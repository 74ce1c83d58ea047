import { findManaged } from '../db/tables/configurations.js';
import { dateTimeWords } from '../lib/date-words.js';
import type { Call } from '../management/call.js';
import { isKindName } from '../management/configuration/kinds.js';
import type { Part } from './page-parts.js';
import { fill, sentences } from './words.js';

/** Which of the records the configuration document manages that was last applied (specification 15.1.11). */
export async function managedIds({ ctx }: Pick<Call, 'ctx'>, type: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return new Set(isKindName(type) && ids.length > 0 ? (await findManaged(ctx.scope, type, ids)).ids : []);
}

/** Says of a record that a document manages it, so that nobody wonders where a change by hand went. */
export async function managedNotice({ ctx }: Pick<Call, 'ctx'>, type: string, id: string): Promise<Part[]> {
  if (!isKindName(type)) return [];
  const { ids, applied_at, actor_display } = await findManaged(ctx.scope, type, [id]);
  if (ids.length === 0) return [];
  const text = fill(sentences.a_configuration_document_manages_this, { actor_display, value: dateTimeWords(applied_at.toISOString()) });
  return [{ kind: 'notice', tone: 'info', text }];
}
