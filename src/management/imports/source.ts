import { addImportData, type UserImportRow } from '../../db/tables/user_imports.js';
import { transaction, type Context } from '../../domain/context.js';
import { maxImportBytes } from '../../domain/moving/user-imports.js';
import { bodyLimits } from '../../http/request/body-limits.js';
import { OutboundError, type OutboundResponse } from '../../platform/fetch/fetch.js';

/** The file can't be fetched from where the import says it is. */
export class SourceFailure extends Error {}

const partBytes = bodyLimits.import_part;
const partMs = 60_000;

type Note = (tx: Context, changes: Partial<UserImportRow>) => Promise<UserImportRow>;

/** The next part of the source. @throws {SourceFailure} */
async function fetchPart({ net }: Context, url: string, start: number): Promise<OutboundResponse> {
  const headers = { range: `bytes=${start}-${start + partBytes - 1}`, 'accept-encoding': 'identity' };
  try {
    return await net.fetch.request(url, { headers, timeoutMs: partMs, maxResponseBytes: partBytes });
  } catch (error) {
    if (error instanceof OutboundError) throw new SourceFailure(`the source can not be fetched: ${error.reason}`);
    throw error;
  }
}

/** Fetches the file that the import names, part by part, from where the last process came to. @throws {SourceFailure} */
export async function fetchSource(ctx: Context, job: UserImportRow, note: Note): Promise<UserImportRow> {
  let row = job;
  while (row.total_bytes === null) {
    const { status, headers, body, truncated } = await fetchPart(ctx, row.source_url ?? '', row.received_bytes);
    const range = /^bytes \d+-\d+\/(\d+)$/.exec(String(headers['content-range'] ?? ''));
    const isWhole = status === 200 && row.received_bytes === 0 && !truncated;
    if (!isWhole && !(status === 206 && range))
      throw new SourceFailure(`the source answered ${status}; it has to answer parts (Range) of a longer file`);
    const total = isWhole ? body.length : Number(range?.[1]);
    const received_bytes = row.received_bytes + body.length;
    if (total > maxImportBytes || body.length === 0 || received_bytes > total)
      throw new SourceFailure('the source has more than 1 GiB, or another length than it says');
    const is_compressed = row.received_bytes === 0 ? body[0] === 0x1f && body[1] === 0x8b : row.is_compressed;
    row = await transaction(ctx, async (tx) => {
      await addImportData(tx.scope, row.id, body, tx.clock.now());
      return note(tx, { received_bytes, is_compressed, ...(received_bytes === total && { total_bytes: total }) });
    });
  }
  return row;
}
