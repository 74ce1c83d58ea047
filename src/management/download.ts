import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { createContext, transaction } from '../domain/context.js';
import { requireReach } from '../domain/reach/reach.js';
import { deadlineIn } from '../lib/deadline.js';
import { recordDenial, recordWrite } from './audit.js';
import { requirePermissions, requireStrongSignIn } from './authorize.js';
import type { Call } from './call.js';
import { notFound, translated } from './problems.js';
import { findRecord } from './records.js';
import { reported } from './reported.js';
import { permissionFor, type Download, type ReadPiece, type Resource, type ResourceRow } from './resource.js';

/** The whole takes as long as its reader does, so each piece has a deadline of its own. */
const pieceMs = 5_000;

/** Lets the caller have the file, and notes it. @throws {ApiError} 401, 403, 404, 410 */
const begin = async (call: Call, resource: Resource, id: string, download: Download<ResourceRow>): Promise<ResourceRow> =>
  recordDenial(call, { action: download.audit, resource, target_id: id }, () =>
    translated(undefined, async () => {
      requireStrongSignIn(call);
      requirePermissions(call, permissionFor(resource, 'read'));
      return transaction(call.ctx, async (ctx) => {
        const row = await findRecord(ctx, resource, id, true);
        if (!row) throw notFound();
        const reach = await resource.reach.of(ctx, row);
        requireReach(call.actor, { before: reach, after: reach, touched: [{ touch: 'control', at: {} }] });
        await download.begin(ctx, call.actor, row);
        await recordWrite(
          { ...call, ctx },
          { action: download.audit, resource, target_id: id, target_display: resource.display?.(row) ?? null },
        );
        return row;
      });
    }),
  );

/** Answers with the file that the record stands for. What fails on the way breaks it off, so that a file that is whole ends as it should. */
export async function answerDownload(call: Call, resource: Resource, id: string, res: Response): Promise<null> {
  const download = resource.download as Download<ResourceRow>;
  const row = await begin(call, resource, id, download);
  const read: ReadPiece = (work) =>
    reported({ ...call, ctx: createContext(call.ctx, call.ctx.environment, deadlineIn(pieceMs)) }, ({ ctx }) => work(ctx));
  const file = `${resource.path}-${id}.ndjson`;
  res.set({ 'Content-Type': download.mediaType, 'Content-Disposition': `attachment; filename="${file}"`, 'Cache-Control': 'no-store' });
  await pipeline(Readable.from(download.content(read, row), { objectMode: false }), res).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    call.ctx.logger.error({ event: 'list.export_failed', err: error, request_id: call.request_id }, 'a file broke off');
  });
  return null;
}
