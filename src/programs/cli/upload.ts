import { open } from 'node:fs/promises';
import { CliError, isPassing, mostTries, pauseBefore, readPatiently, type CallApi } from './api.js';
import { one } from './shell.js';

/** Bytes of a part: short enough for a slow line, as each request has to arrive within seconds. */
const partBytes = 2 * 1024 * 1024;

export type SentFile = { readonly size: number; readonly isCompressed: boolean; part(start: number): Promise<Buffer> };

const isGzip = (begin: Buffer) => begin[0] === 0x1f && begin[1] === 0x8b;

export const wholeFile = (data: Buffer): SentFile => ({
  size: data.length,
  isCompressed: isGzip(data),
  part: async (start) => data.subarray(start, start + partBytes),
});

/** A file on the disk, of which a part is read at a time. @throws {CliError} */
export async function withFile<T>(path: string, work: (file: SentFile) => Promise<T>): Promise<T> {
  const unreadable = (error: unknown) => {
    throw new CliError(`${path} can not be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  };
  const handle = await open(path).catch(unreadable);
  try {
    const part = async (start: number) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(partBytes), 0, partBytes, start).catch(unreadable);
      return buffer.subarray(0, bytesRead);
    };
    return await work({ size: (await handle.stat()).size, isCompressed: isGzip(await part(0)), part });
  } finally {
    await handle.close();
  }
}

/** Sends a record's file from where the service has it, and goes on from there where the line breaks off. @throws {CliError} */
export async function uploadTo(call: CallApi, path: string, file: SentFile): Promise<void> {
  const received = async () => Number(one((await readPatiently(call, path)).data).attributes['received_bytes']);
  for (let [start, tries] = [await received(), 0]; start < file.size;) {
    const data = await file.part(start);
    const headers = {
      'content-type': 'application/x-ndjson',
      ...(file.isCompressed && { 'content-encoding': 'gzip' }),
      'content-range': `bytes ${start}-${start + data.length - 1}/${file.size}`,
    };
    try {
      await call('PUT', `${path}/data`, { file: { data, headers } });
      [start, tries] = [start + data.length, 0];
    } catch (error) {
      if (!isPassing(error) || tries === mostTries) throw error;
      await pauseBefore(tries);
      [start, tries] = [await received(), tries + 1];
    }
  }
}
