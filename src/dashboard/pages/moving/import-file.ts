import type { Request, Response } from 'express';
import { findUserImport, type UserImportRow } from '../../../db/tables/user_imports.js';
import type { FilePart } from '../../../domain/moving/user-imports.js';
import type { ResourceObject } from '../../../management/documents.js';
import { previewImport } from '../../../management/imports/preview.js';
import { requirePermissions } from '../../../management/authorize.js';
import { perform } from '../../../management/write-steps.js';
import { attempt } from '../../parts/forms/create.js';
import { previewParts } from './import-preview.js';
import type { Part, UploadPart } from '../../parts/page-parts.js';
import { may, recordOf, resourceOf } from '../../parts/records/objects.js';
import { recordPath, type Presentation, type ViewContext } from '../../parts/records/presentation.js';
import { addressedId, recordFrame } from '../../parts/records/record.js';
import type { Render } from '../../parts/render.js';
import { words } from '../../parts/values.js';

const mib = 1024 * 1024;
/** One request has to arrive within seconds: what is longer comes in parts, which a form can't. */
export const maxImportFileBytes = 8 * mib;
const limitText = `at most ${maxImportFileBytes / mib} MiB. Compress it, or send larger ones with idp import.`;
const field = 'import-file';

const uploadPart = ({ id }: ResourceObject, error: string | null): UploadPart => ({
  kind: 'upload',
  id: field,
  title: 'Upload the file',
  ground: null,
  image: null,
  text: 'You see a preview before the import starts.',
  accept: '.ndjson,.jsonl,.json,.gz,application/x-ndjson,application/gzip',
  hint: `A JSON object per line (NDJSON), plain or gzip, dropped here or chosen; ${limitText}`,
  action: `${recordPath('user_imports', id)}/data`,
  hidden: {},
  button: 'Upload',
  isRemovable: false,
  error,
});

/** Whether the one who looks on made the import, and may bring its file. */
const isTheirs = (call: Request['call'], { actor_kind, actor_id }: UserImportRow) =>
  call.actor.actor_kind === actor_kind && call.actor.actor_id === actor_id && may(call, 'user_imports', 'write');

/** What stands above an import: the form for its file while it waits for that, then what becomes of it, and that a dry run changed nothing. */
export async function importFileParts({ req: { call } }: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { status, dry_run, finished_at, actor_display } = record.attributes;
  if (dry_run === true && finished_at !== null)
    return [{ kind: 'notice', tone: 'info', text: 'This was a dry run: nothing was changed. The counts show what an import would do.' }];
  if (status !== 'awaiting_data') return [];
  const row = await findUserImport(call.ctx.scope, record.id);
  if (row && isTheirs(call, row))
    return row.received_bytes === 0 ? [uploadPart(record, null)] : previewParts(record, row, await previewImport(call.ctx, row));
  return [{ kind: 'notice', tone: 'info', text: `Waits for the file, which ${words(actor_display)} sends with the Management API.` }];
}

/** The file whole, as the API takes parts, but for its end; gzip by its first bytes (RFC 1952 2.3.1). */
const partOf = (data: Buffer): FilePart => ({ data, start: 0, total: null, is_compressed: data[0] === 0x1f && data[1] === 0x8b });

/** That there is no more: the import starts. */
const endOf = ({ received_bytes, is_compressed }: UserImportRow): FilePart => ({
  data: Buffer.alloc(0),
  start: received_bytes,
  total: received_bytes,
  is_compressed,
});

/** POST /dashboard/user_imports/{id}/data: what PUT of the API does with a file of one part, in two steps. */
export const postImportFile = (render: Render, presentation: Presentation) => async (req: Request, res: Response) => {
  const { call, upload } = req;
  requirePermissions(call, 'user_imports:write');
  const { record } = await recordOf(call, 'user_imports', addressedId(req));
  const refuse = (error: string, status = 422) => {
    const { dangers: _dangers, ...frame } = recordFrame({ req, now: call.ctx.clock.now() }, presentation, record, [], null);
    const page = { ...frame, errors: { [field]: error }, labels: { [field]: 'File' }, parts: [uploadPart(record, error)] };
    render(req, res, page, status);
  };
  const row = req.form.get('start') !== 'on' ? null : await findUserImport(call.ctx.scope, record.id);
  const starts = row !== null && row.received_bytes > 0;
  if (upload?.isTooLarge) return refuse(`The file is too large: ${limitText}`);
  const part = starts ? endOf(row) : upload && upload.bytes.length > 0 ? partOf(upload.bytes) : null;
  if (part === null) return refuse('Choose a file that isn’t empty.');
  const resource = resourceOf(call, 'user_imports');
  const write = { kind: 'act', resource, id: record.id, name: 'data', prepared: part } as const;
  const result = await attempt([], { texts: {}, chosen: {} }, () => perform(call, write));
  if ('errors' in result) return refuse(result.errors['form'] ?? '', result.status);
  res.redirect(303, `${recordPath('user_imports', record.id)}?done=${starts ? 'import_started' : 'file_received'}`);
};
