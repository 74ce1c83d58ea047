import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { transaction } from '../domain/context.js';
import { requireReach, type Reach } from '../domain/reach/reach.js';
import { recordDenial, recordWrite } from './audit.js';
import { requirePermissions, requireStrongSignIn } from './authorize.js';
import { forNextPiece, type Call } from './call.js';
import { notFound, translated } from './problems.js';
import { findRecord } from './records.js';
import { reported } from './reported.js';
import { permissionFor, type Download, type ReadPiece, type Resource, type ResourceRow } from './resource.js';

type Begun = { readonly row: ResourceRow; readonly reach: Reach };

const requireWhole = ({ actor }: Call, reach: Reach) =>
  requireReach(actor, { before: reach, after: reach, touched: [{ touch: 'control', at: {} }] });

/** Lets the caller have the file, and notes it. @throws {ApiError} 401, 403, 404, 410 */
const begin = async (call: Call, resource: Resource, id: string, download: Download<ResourceRow>): Promise<Begun> =>
  recordDenial(call, { action: download.audit, resource, target_id: id }, () =>
    translated(undefined, async () => {
      requireStrongSignIn(call);
      requirePermissions(call, permissionFor(resource, 'read'));
      return transaction(call.ctx, async (ctx) => {
        const row = await findRecord(ctx, resource, id, true);
        if (!row) throw notFound();
        const reach = await resource.reach.of(ctx, row);
        requireWhole(call, reach);
        await download.begin(ctx, call.actor, row);
        await recordWrite(
          { ...call, ctx },
          { action: download.audit, resource, target_id: id, target_display: resource.display?.(row) ?? null },
        );
        return { row, reach };
      });
    }),
  );

/** What the caller may have of the file goes on while they may. @throws {ApiError | Refusal} 403 @throws what a refusal of their token or session throws */
async function goOn(begun: Call, resource: Resource, id: string, reach: Reach): Promise<Call> {
  const call = await forNextPiece(begun);
  return recordDenial(call, { action: (resource.download as Download<ResourceRow>).audit, resource, target_id: id }, async () => {
    requirePermissions(call, permissionFor(resource, 'read'));
    requireWhole(call, reach);
    return call;
  });
}

/** Answers with the file that the record stands for. What fails on the way breaks it off, so that a file that is whole ends as it should. */
export async function answerDownload(call: Call, resource: Resource, id: string, res: Response): Promise<null> {
  const download = resource.download as Download<ResourceRow>;
  const { row, reach } = await begin(call, resource, id, download);
  const read: ReadPiece = async (work) => reported(await goOn(call, resource, id, reach), ({ ctx }) => work(ctx));
  const file = `${resource.path}-${id}.ndjson`;
  res.set({ 'Content-Type': download.mediaType, 'Content-Disposition': `attachment; filename="${file}"`, 'Cache-Control': 'no-store' });
  await pipeline(Readable.from(download.content(read, row), { objectMode: false }), res).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    call.ctx.logger.error({ event: 'list.export_failed', err: error, request_id: call.request_id }, 'a file broke off');
  });
  return null;
}
