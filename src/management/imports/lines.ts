import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { findImportChunk, type UserImportRow } from '../../db/tables/user_imports.js';
import type { Context } from '../../domain/context.js';
import { maxImportBytes } from '../../domain/moving/user-imports.js';

/** The longest line, in bytes. */
export const longestLine = 65_536;

/** A line of the file, by its number; null where it is longer than a line may be. */
export type Line = { readonly line: number; readonly bytes: Buffer | null };

/** The file is no gzip, or more than may be unpacked: none of the rest can be read. */
export class UnreadableFile extends Error {}

export type FileLines = { readonly lines: AsyncIterable<Line>; readBytes(): number };

const lineFeed = 10;

/** Cuts bytes into lines; what is too long is dropped up to its end. */
async function* cut(source: AsyncIterable<Buffer>, mostBytes: number): AsyncGenerator<Line> {
  let rest = Buffer.alloc(0);
  let overlong = false;
  let [line, seen] = [0, 0];
  for await (const piece of source) {
    seen += piece.length;
    let begin = 0;
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, begin)) {
      const bytes = Buffer.concat([rest, piece.subarray(begin, end)]);
      line += 1;
      yield { line, bytes: overlong || bytes.length > longestLine ? null : bytes };
      [rest, overlong, begin] = [Buffer.alloc(0), false, end + 1];
    }
    if (seen > mostBytes) throw new UnreadableFile('the file is longer than 1 GiB when it is unpacked, or its lines than 64 KiB');
    const tail = piece.subarray(begin);
    if (rest.length + tail.length > longestLine) [rest, overlong] = [Buffer.alloc(0), true];
    else if (!overlong) rest = Buffer.concat([rest, tail]);
  }
  if (rest.length > 0 || overlong) yield { line: line + 1, bytes: overlong ? null : rest };
}

/** Turns what the unpacking throws into what is told. */
async function* unpacked(chunks: Readable): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  chunks.on('error', (error) => gunzip.destroy(error));
  try {
    for await (const piece of chunks.pipe(gunzip)) yield piece as Buffer;
  } catch (error) {
    const { code } = error as { code?: string };
    throw code?.startsWith('Z_') ? new UnreadableFile('the file can not be unpacked: it is no whole gzip') : error;
  } finally {
    chunks.destroy();
  }
}

/** Reads what was uploaded for an import, a part at a time. */
export function linesOf(fresh: () => Context, { id, is_compressed }: UserImportRow, mostBytes = maxImportBytes): FileLines {
  let read = 0;
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let seq = 1; ; seq++) {
      const data = await findImportChunk(fresh().scope, id, seq);
      if (data === null) return;
      read += data.length;
      yield data;
    }
  }
  const source = is_compressed ? unpacked(Readable.from(chunks(), { objectMode: true, highWaterMark: 1 })) : chunks();
  return { lines: cut(source, mostBytes), readBytes: () => read };
}
