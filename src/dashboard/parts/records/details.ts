import type { Detail } from '../../../lib/authorization-details.js';
import { detailReader } from '../../../http/pages/detail-texts.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Row, Value } from '../page-parts.js';
import { code, nothing, quiet, stack } from '../values.js';
import { terms } from '../words.js';
import { may } from './objects.js';
import type { Presentation, ViewContext } from './presentation.js';

const detailsOf = ({ attributes: a }: ResourceObject) => a['authorization_details'] as readonly Detail[];

/**
 * The authorization details of records, by their ids, as people were asked: by the sentences of their types. One that no sentence says any more, and all
 * of them where the reader may not read types, are as the API has them.
 * @param most how many of a record are shown
 */
async function detailValues(
  { req: { call } }: ViewContext,
  records: readonly ResourceObject[],
  most: number,
): Promise<ReadonlyMap<string, Value>> {
  const shown = may(call, 'authorization_detail_types', 'read') ? records.flatMap(detailsOf) : [];
  const read = await detailReader(call.ctx, { language: 'en' }, shown);
  const valueOf = (detail: Detail): Value => {
    const sentence = read(detail);
    return sentence
      ? { kind: 'text', text: sentence.text, language: { tag: sentence.lang, dir: sentence.dir } }
      : code(JSON.stringify(detail));
  };
  return new Map(
    records.flatMap((record) => {
      const details = detailsOf(record);
      const left = details.length - most;
      const rest = left > 0 ? [quiet(`and ${left} more`)] : [];
      return details.length === 0 ? [] : [[record.id, stack(...details.slice(0, most).map(valueOf), ...rest)] as const];
    }),
  );
}

/** What lists show below a value of the record; of a record with many details some. */
export const detailExtras = (view: ViewContext, records: readonly ResourceObject[]) => detailValues(view, records, 3);

/** The value with the record's details below it. */
export function aboveDetails(value: Value, details: Value | undefined): Value {
  if (!details) return value;
  return value === nothing ? details : stack(value, details);
}

/** The summary with the record's details, where it has any, after the row of the label. */
export const detailedSummary =
  (summary: Presentation['summary'], after: string): NonNullable<Presentation['named']> =>
  async (view, record) => {
    const value = (await detailValues(view, [record], Infinity)).get(record.id);
    const row: Row[] = value ? [{ label: terms.authorization_details, value }] : [];
    return { summary: (...shown) => summary(...shown).flatMap((one) => (one.label === after ? [one, ...row] : [one])) };
  };
