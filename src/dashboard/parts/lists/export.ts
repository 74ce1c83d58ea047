import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { PageError } from '../../../errors.js';
import { queryOf } from '../../../http/request/form.js';
import { csvRecord } from '../../../lib/csv.js';
import { named, own } from '../../../lib/named.js';
import { recordDenial, recordWrite } from '../../../management/audit.js';
import { forNextPiece, type Call } from '../../../management/call.js';
import { requirePermissions } from '../../../management/authorize.js';
import type { ResourceObject } from '../../../management/documents.js';
import { permissionFor, type Resource } from '../../../management/resource.js';
import { listOf, recordOf, relatedOf, resourceOf, type Listing, type ListQuery } from '../records/objects.js';
import { addressedId } from '../records/record.js';
import type { ExportColumn, Presentation } from '../records/presentation.js';
import { words } from '../values.js';
import { defaultSortOf, listState, readFilters } from './filters.js';

/** A file as it is written: what stands before its records, between them and after them. */
type Format = {
  readonly type: string;
  head(columns: readonly ExportColumn[]): string;
  line(record: ResourceObject, columns: readonly ExportColumn[]): string;
  readonly between: string;
  readonly tail: string;
};

const objectOf = ({ id, attributes }: ResourceObject): string => JSON.stringify({ id, ...attributes });

const formats: Readonly<Record<string, Format>> = named<Format>({
  csv: {
    type: 'text/csv; charset=utf-8; header=present',
    head: (columns) => csvRecord(columns.map(({ name }) => name)),
    line: (record, columns) => csvRecord(columns.map((column) => column.text(record))),
    between: '',
    tail: '',
  },
  json: { type: 'application/json', head: () => '[', line: objectOf, between: ',\n', tail: ']\n' },
  ndjson: { type: 'application/x-ndjson', head: () => '', line: (record) => `${objectOf(record)}\n`, between: '', tail: '' },
});

/** Every attribute that answers show, by its name in the API. */
const attributeColumns = ({ attributes }: Resource): readonly ExportColumn[] => [
  { name: 'id', text: ({ id }) => id },
  ...Object.keys(attributes.shape).map((name): ExportColumn => ({ name, text: (record) => words(record.attributes[name]) })),
];

const pageSize = 100;

/** Yields pages of records; the next page is read when the one before has been sent, by who asks as they are by then. */
async function* pages(
  { call }: Request,
  read: (call: Call, page: ListQuery) => Promise<Listing>,
): AsyncGenerator<readonly ResourceObject[]> {
  for (let after: string | undefined; ;) {
    const { records, next } = await read(await forNextPiece(call), { size: pageSize, after });
    yield records;
    if (next === null) return;
    after = next;
  }
}

const formatNamed = (name: string): Format => {
  const format = own(formats, name);
  if (!format) throw new PageError(400, 'invalid_format', 'An export is csv, json or ndjson.');
  return format;
};

/** What the file is of; `target_id`: the record whose related records it has. */
type Exported = {
  readonly resource: Resource;
  readonly target_id: string | null;
  readonly title: string;
  readonly columns: readonly ExportColumn[];
};

const exportedOf = (req: Request, { path, title, exported }: Presentation): Exported => {
  const resource = resourceOf(req.call, path);
  return { resource, target_id: null, title, columns: exported ?? attributeColumns(resource) };
};

/** What is sent is noted first: who took which records away. */
async function sendFile(
  req: Request,
  res: Response,
  { resource, target_id, title, columns }: Exported,
  name: string,
  of: Readonly<Record<string, unknown>>,
  found: AsyncGenerator<readonly ResourceObject[]>,
): Promise<void> {
  const { call } = req;
  const format = formatNamed(name);
  // The first page comes before anything is sent: a filter that doesn't fit is refused with a page.
  const first = await found.next();
  const noted = Object.entries({ format: name, ...of }).map(([key, value]): [string, [null, unknown]] => [key, [null, value]]);
  await recordWrite(call, { action: 'exported', resource, target_id, changes: Object.fromEntries(noted) });
  const day = call.ctx.clock.now().toISOString().slice(0, 10);
  const file = `${title.toLowerCase().replaceAll(' ', '-')}-${day}.${name}`;
  res.set({ 'Content-Type': format.type, 'Content-Disposition': `attachment; filename="${file}"` });
  async function* content(): AsyncGenerator<string> {
    yield format.head(columns);
    let before = '';
    for (let page = first; page.done !== true; page = await found.next()) {
      if (page.value.length === 0) continue;
      yield before + page.value.map((record) => format.line(record, columns)).join(format.between);
      before = format.between;
    }
    yield format.tail;
  }
  await pipeline(Readable.from(content(), { objectMode: false }), res).catch((error: unknown) => {
    // A client that closes the connection is no error; on other errors the response is aborted, so that the file is visibly incomplete.
    if ((error as { code?: unknown }).code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    call.ctx.logger.error({ event: 'list.export_failed', err: error, request_id: req.request_id }, 'an export of a list broke off');
  });
}

const denied = (req: Request, resource: Resource) =>
  recordDenial(req.call, { action: 'exported', resource, target_id: null }, async () =>
    requirePermissions(req.call, permissionFor(resource, 'read')),
  );

/**
 * GET /dashboard/{collection}/export?format=csv|json|ndjson: what the list shows under the same filters, whole, page by page as fast as the
 * reader takes it. The export is itself an entry of the audit log, written before the first byte. Breaks off when something fails on the way, so that a
 * file that is whole ends as it should.
 */
export const exportList = (presentation: Presentation) => async (req: Request, res: Response) => {
  const { call } = req;
  const resource = resourceOf(call, presentation.path);
  const state = listState(req, presentation.filters, defaultSortOf(presentation, resource));
  const { query: filters } = await readFilters({ req, now: call.ctx.clock.now() }, state, presentation.filters);
  const chosen = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));
  await denied(req, resource);
  const name = queryOf(req).get('format') ?? '';
  formatNamed(name);
  const found = pages(req, (of, page) => listOf(of, presentation.path, { ...page, filters }));
  await sendFile(req, res, exportedOf(req, presentation), name, { filters: chosen }, found);
};

/** The same of what a record is linked to: GET /dashboard/{collection}/{id}/{relationship}/export. @throws {ApiError} 404 */
export function exportRelated({ path }: Presentation, relationship: string, title: string) {
  return async (req: Request, res: Response): Promise<void> => {
    const { call } = req;
    const resource = resourceOf(call, path);
    await denied(req, resource);
    const name = queryOf(req).get('format') ?? '';
    formatNamed(name);
    const { record } = await recordOf(call, path, addressedId(req));
    const columns = attributeColumns(call.registry.byType.get(resource.relationships[relationship]?.to ?? '') ?? resource);
    const found = pages(req, (of, page) => relatedOf(of, path, record.id, relationship, page));
    await sendFile(req, res, { resource, target_id: record.id, title, columns }, name, { relationship }, found);
  };
}

export async function exportSelected(
  req: Request,
  res: Response,
  presentation: Presentation,
  name: string,
  records: readonly ResourceObject[],
): Promise<void> {
  await denied(req, resourceOf(req.call, presentation.path));
  async function* selected(): AsyncGenerator<readonly ResourceObject[]> {
    yield records;
  }
  await sendFile(req, res, exportedOf(req, presentation), name, { ids: records.map(({ id }) => id) }, selected());
}
