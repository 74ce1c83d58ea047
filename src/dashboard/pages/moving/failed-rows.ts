import { queryOf } from '../../../http/request/form.js';
import type { ResourceObject } from '../../../management/documents.js';
import { downloadsOf } from '../../parts/lists/downloads.js';
import { relatedOf } from '../../parts/records/objects.js';
import type { Part } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import { code, number, text } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

/** The rows of the file that were not taken, as the page and its files have them. */
export async function failedRowsTab({ req }: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const path = `${recordPath('user_imports', record.id)}/row_errors`;
  const query = queryOf(req);
  const around = { after: query.get('after') ?? undefined, before: query.get('before') ?? undefined };
  const { records, previous, next } = await relatedOf(req.call, 'user_imports', record.id, 'row_errors', around);
  const files = downloadsOf(`user_imports/${record.id}/row_errors`, 'csv', 'json');
  return [
    pageTable({
      id: 'row-errors',
      caption: terms.failed_rows,
      heading: false,
      columns: ['Line', 'Problem', 'Attribute', 'Code'],
      rows: records.map(({ attributes: a }) => ({ cells: [number(a['line']), text(a['detail']), code(a['pointer']), code(a['code'])] })),
      nothing: ['No failed rows', 'Rows that fail are listed here with their line number, for 30 days.'],
      files: records.length === 0 ? [] : files.map(({ label, path: at, query: { format } }) => ({ label, path: `${at}?format=${format}` })),
      pager: { previous: previous && `${path}?before=${previous}`, next: next && `${path}?after=${next}` },
    }),
  ];
}
