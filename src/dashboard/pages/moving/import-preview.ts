import type { UserImportRow } from '../../../db/tables/user_imports.js';
import type { ResourceObject } from '../../../management/documents.js';
import { shortened } from '../../../lib/shortened.js';
import type { ImportPreview } from '../../../management/imports/preview.js';
import type { Part, Value } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath } from '../../parts/records/presentation.js';
import { code, figure, inWords, lines, number, state, text, words } from '../../parts/values.js';

const longestSample = 80;
const shownProblems = 10;

const short = (value: unknown): string => shortened(words(value), longestSample);

function becomesOf({ name, becomes, nearest }: ImportPreview['attributes'][number]): Value {
  if (becomes === 'known') return state('good', inWords(name));
  if (becomes === 'ignored') return state('quiet', 'Ignored: “Addresses are verified” isn’t selected');
  return state('bad', `Unknown: its rows fail.${nearest === null ? '' : ` Did you mean ${nearest}?`}`);
}

/** What becomes of a file that is here, by its first rows, and what starts the import. */
export function previewParts({ id }: ResourceObject, { dry_run }: UserImportRow, preview: ImportPreview): readonly Part[] {
  const { row_count, attributes, refused, error } = preview;
  const found: Part[] = [];
  if (error !== null) found.push({ kind: 'notice', tone: 'bad', text: `The file can’t be read any further: ${error}.` });
  if (row_count === 0 && error === null) found.push({ kind: 'notice', tone: 'bad', text: 'The file has no rows.' });
  if (attributes.length > 0)
    found.push(
      pageTable({
        id: 'attributes',
        caption: `Attributes of the first ${row_count === 1 ? 'row' : `${figure(row_count)} rows`}`,
        columns: ['In the file', 'Becomes', 'Examples'],
        rows: attributes.map((one) => ({ cells: [code(short(one.name)), becomesOf(one), lines(one.samples.map(short))] })),
      }),
    );
  if (refused.length > 0)
    found.push(
      pageTable({
        id: 'refused',
        caption: `${figure(refused.length)} of them would fail`,
        columns: ['Line', 'Problem', 'Attribute'],
        rows: refused.slice(0, shownProblems).map(({ line, problem: { detail, pointer } }) => ({
          cells: [number(line), text(detail), code(pointer)],
        })),
      }),
    );
  const start = { label: dry_run ? 'Start dry run' : 'Start import', action: `${recordPath('user_imports', id)}/data` };
  return [
    ...found,
    {
      kind: 'text',
      title: null,
      paragraphs: [
        dry_run
          ? 'The dry run goes through all rows and changes nothing.'
          : 'The import goes through all rows. To be sure first, cancel it and make a dry run of the same file.',
      ],
    },
    { kind: 'buttons', links: [], posts: [{ ...start, variant: 'primary', hidden: { start: 'on' } }] },
  ];
}
