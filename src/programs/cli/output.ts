import { shortened } from '../../lib/shortened.js';
import type { ApiRecord } from './api.js';
import { columns, type Output } from './shell.js';
import { visible, visibleJson } from './visible.js';

/** Longer cells of a list are cut. */
const widest = 60;

const textOf = (value: unknown): string =>
  value === null || value === undefined ? '-' : visible(typeof value === 'string' ? value : JSON.stringify(value));

const cell = (value: unknown): string => shortened(textOf(value), widest);

function rowsOf({ id, attributes, relationships = {} }: ApiRecord): string[][] {
  const linked = Object.entries(relationships).flatMap(([name, { data }]) =>
    data === undefined
      ? []
      : [
          [
            name,
            [data]
              .flat()
              .map((one) => textOf((one as { id?: unknown } | null)?.id))
              .join(' ') || '-',
          ],
        ],
  );
  return [['id', visible(id)], ...Object.entries(attributes).map(([name, value]) => [name, textOf(value)]), ...linked];
}

/** A value for programs, in which a terminal finds nothing to obey either. */
export async function structured(output: Exclude<Output, 'table'>, value: unknown): Promise<string> {
  if (output === 'json') return visibleJson(JSON.stringify(value, null, 2));
  if (output === 'ndjson') return [value].flat().map((one) => visibleJson(JSON.stringify(one))).join('\n'); // prettier-ignore
  const { stringify } = await import('yaml');
  // What a terminal doesn't show stands in quotes, escaped as in JSON.
  const text = stringify(JSON.parse(JSON.stringify(value)), { lineWidth: 0, defaultStringType: 'PLAIN' });
  return text === visibleJson(text)
    ? text.trimEnd()
    : visibleJson(stringify(value, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE' })).trimEnd();
}

const hasMembers = (meta: object) => Object.keys(meta).length > 0;

/** A record, and what else its answer says. */
export async function recordText(output: Output, record: ApiRecord | null, meta: object): Promise<string> {
  if (output !== 'table') return structured(output, hasMembers(meta) ? { ...record, meta } : record);
  const rows = [...(record ? rowsOf(record) : []), ...Object.entries(meta).map(([name, value]) => [name, textOf(value)])];
  return columns(rows);
}

/** A list; a table has the columns that are named. */
export async function listText(output: Output, records: readonly ApiRecord[], shown: readonly string[]): Promise<string> {
  if (output !== 'table') return structured(output, records);
  return columns([['id', ...shown], ...records.map(({ id, attributes }) => [visible(id), ...shown.map((name) => cell(attributes[name]))])]);
}

/** What a call answers. */
export const metaText = (output: Output, meta: object): Promise<string> => structured(output === 'table' ? 'json' : output, meta);
