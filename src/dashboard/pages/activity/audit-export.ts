import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { createContext } from '../../../domain/context.js';
import { PageError } from '../../../errors.js';
import { queryOf } from '../../../http/request/form.js';
import { csvRecord } from '../../../lib/csv.js';
import { deadlineIn } from '../../../lib/deadline.js';
import { recordDenial, recordWrite } from '../../../management/audit.js';
import { requirePermissions } from '../../../management/authorize.js';
import { auditLogsPresentation } from './audit-logs.js';
import type { ResourceObject } from '../../../management/documents.js';
import { listOf, resourceOf } from '../../parts/records/objects.js';
import { listState, readFilters } from '../../parts/lists/list.js';
import { words } from '../../parts/values.js';
import { named, own } from '../../../lib/named.js';

type Party = Readonly<Record<string, unknown>>;

const member = (of: unknown, name: string): string => words(own(of as Party | undefined, name));

const columns: readonly { readonly name: string; text(record: ResourceObject): string }[] = [
  ...['occurred_at', 'action', 'outcome', 'reason'].map((name) => ({ name, text: ({ attributes: a }: ResourceObject) => words(a[name]) })),
  ...['actor_kind', 'actor_id', 'display'].map((name) => ({
    name: name === 'display' ? 'actor' : name,
    text: ({ attributes: a }: ResourceObject) => member(a['actor'], name),
  })),
  ...['target_type', 'target_id', 'display'].map((name) => ({
    name: name === 'display' ? 'target' : name,
    text: ({ attributes: a }: ResourceObject) => member((a['targets'] as Party[] | undefined)?.[0], name),
  })),
  ...['ip_address', 'user_agent', 'request_id', 'changes', 'count'].map((name) => ({
    name,
    text: ({ attributes: a }: ResourceObject) => words(a[name]),
  })),
  { name: 'id', text: ({ id }) => id },
];

type Format = { readonly type: string; readonly head: string; line(record: ResourceObject): string };

const formats: Readonly<Record<string, Format>> = named({
  csv: {
    type: 'text/csv; charset=utf-8; header=present',
    head: csvRecord(columns.map(({ name }) => name)),
    line: (record) => csvRecord(columns.map((column) => column.text(record))),
  },
  ndjson: {
    type: 'application/x-ndjson',
    head: '',
    line: ({ id, attributes }) => `${JSON.stringify({ id, ...attributes })}\n`,
  },
});

const pageSize = 100;
/** The whole takes as long as its reader does, so each page has a deadline of its own. */
const pageMs = 5_000;

/** Yields pages of entries; the next page is read when the one before has been sent. */
async function* pages(req: Request, filters: Readonly<Record<string, string>>): AsyncGenerator<readonly ResourceObject[]> {
  for (let after: string | undefined; ;) {
    const { call } = req;
    const ctx = createContext(call.ctx, call.ctx.environment, deadlineIn(pageMs));
    const { records, next } = await listOf({ ...call, ctx }, 'audit_logs', { filters, size: pageSize, after });
    yield records;
    if (next === null) return;
    after = next;
  }
}

/**
 * GET /dashboard/audit_logs/export?format=csv|ndjson: what the list shows under the same filters, whole, page by page as fast as the
 * reader takes it. The export is itself an entry, written before the first byte. Breaks off when something fails on the way, so that a
 * file that is whole ends as it should.
 */
export async function exportAuditLogs(req: Request, res: Response): Promise<void> {
  const { call } = req;
  const resource = resourceOf(call, 'audit_logs');
  const named = queryOf(req).get('format') ?? '';
  const format = Object.hasOwn(formats, named) ? formats[named] : undefined;
  const now = call.ctx.clock.now();
  const state = listState(req, auditLogsPresentation.filters, '-occurred_at');
  const filters = await readFilters({ req, now }, state, auditLogsPresentation.filters);
  const chosen = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));
  const entry = { action: 'exported', resource, target_id: null };
  await recordDenial(call, entry, async () => requirePermissions(call, 'audit_logs:read'));
  if (!format) throw new PageError(400, 'invalid_format', 'An export is csv or ndjson.');
  const found = pages(req, filters);
  // The first page comes before anything is sent: a filter that doesn't fit is refused with a page.
  const first = await found.next();
  await recordWrite(call, { ...entry, changes: { format: [null, named], filters: [null, chosen] } });
  const name = `audit-log-${now.toISOString().slice(0, 10)}.${named}`;
  res.set({ 'Content-Type': format.type, 'Content-Disposition': `attachment; filename="${name}"` });
  async function* file(): AsyncGenerator<string> {
    yield format?.head ?? '';
    for (let page = first; page.done !== true; page = await found.next()) yield page.value.map((record) => format?.line(record)).join('');
  }
  await pipeline(Readable.from(file(), { objectMode: false }), res).catch((error: unknown) => {
    // A client that closes the connection is no error; on other errors the response is aborted, so that the file is visibly incomplete.
    if ((error as { code?: unknown }).code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    call.ctx.logger.error(
      { event: 'audit_logs.export_failed', err: error, request_id: req.request_id },
      'an export of the audit log broke off',
    );
  });
}
