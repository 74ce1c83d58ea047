import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** Why a file can't be a list of hashes, as a clause about it. Names no content. */
export class HashFileError extends Error {
  constructor(readonly problem: string) {
    super(problem);
    this.name = 'HashFileError';
  }
}

/** A file of `HASH:COUNT` lines on disk, sorted by hash. */
export type HashFile = {
  /**
   * How often the SHA-1 (40 hexadecimal digits, upper case) was seen; 0 when the file doesn't have it.
   * @throws when the file can't be read, or isn't what it was at the start
   */
  countOf(hash: string): Promise<number>;
};

type Line = { readonly at: number; readonly hash: string; readonly count: number };

/** More than a line is long: 40 digits, a colon, a count, the line's end. */
const longestLine = 64;
/** What is read at once when the bisection has come down to it. */
const lastBytes = 4096;
const windowBytes = 64 * 1024;
const windows = 256;

const lineEnd = 0x0a;
const lineShape = /^([0-9A-F]{40}):(\d{1,12})\r?$/i;

function parseLine(text: string, at: number): Line {
  const [, hash, count] = lineShape.exec(text) ?? [];
  if (hash === undefined) throw new HashFileError(`must have one SHA-1:COUNT a line: the one at byte ${at} is something else`);
  return { at, hash: hash.toUpperCase(), count: Number(count) };
}

/**
 * The lines that begin in `bytes`, which were read from `at` on, and are there whole; `ends` tells whether the file ends with them.
 * @throws {HashFileError} for anything else than lines
 */
function linesIn(bytes: Buffer, at: number, ends: boolean): Line[] {
  const lines: Line[] = [];
  // Elsewhere than at the beginning, the first of the bytes is the one before: it tells whether a line begins after it.
  const before = at === 0 ? -1 : bytes.indexOf(lineEnd);
  if (at > 0 && (before === -1 || before > longestLine)) {
    if (bytes.length > longestLine) throw new HashFileError(`must have one SHA-1:COUNT a line: there is none near byte ${at}`);
    return lines;
  }
  let start = before + 1;
  while (start < bytes.length) {
    const end = bytes.indexOf(lineEnd, start);
    if (end === -1 && !ends) break;
    lines.push(parseLine(bytes.toString('latin1', start, end === -1 ? bytes.length : end), at + start));
    start = end === -1 ? bytes.length : end + 1;
  }
  return lines;
}

/** Where to look at a file of a size: all of it up to 16 MiB, else 256 places and the end. */
function* offsetsIn(size: number): Generator<number> {
  const step = Math.max(windowBytes, Math.ceil(size / windows));
  for (let at = 0; at < size; at += step) yield at;
  yield Math.max(0, size - windowBytes);
}

function checkLines(descriptor: number): void {
  const stat = fstatSync(descriptor);
  if (!stat.isFile()) throw new HashFileError('must be a file');
  if (stat.size === 0) throw new HashFileError('is empty: it would find nothing');
  const buffer = Buffer.alloc(windowBytes + longestLine + 1);
  let last: Line | null = null;
  for (const offset of offsetsIn(stat.size)) {
    const at = Math.max(0, offset - 1);
    const bytes = buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, at));
    for (const line of linesIn(bytes, at, at + bytes.length >= stat.size)) {
      if (last !== null && line.at > last.at && line.hash < last.hash)
        throw new HashFileError(`must be sorted by hash: the line at byte ${line.at} comes too late`);
      if (last === null || line.at > last.at) last = line;
    }
  }
}

/** Reads exactly the bytes of [from, to). */
async function readBetween(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.alloc(to - from);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
  if (bytesRead < bytes.length) throw new HashFileError('is shorter than it was');
  return bytes;
}

/** Bisects: whatever the size of the file, some twenty short reads. A line that has the hash begins in [low, high). */
async function search(file: FileHandle, hash: string): Promise<number> {
  const { size } = await file.stat();
  let [low, high] = [0, size];
  while (high - low > lastBytes) {
    const middle = low + Math.floor((high - low) / 2);
    const [line] = linesIn(await readBetween(file, middle - 1, Math.min(size, middle + 2 * longestLine)), middle - 1, false);
    if (!line) throw new HashFileError(`has no line near byte ${middle}`);
    if (line.hash === hash) return line.count;
    if (line.hash < hash) low = line.at;
    else high = line.at;
  }
  if (high === low) return 0;
  // `low` is where a line begins, so the byte before it, if there is one, ends another.
  const from = Math.max(0, low - 1);
  const lines = linesIn(await readBetween(file, from, Math.min(size, high + longestLine)), from, high + longestLine >= size);
  return lines.find((line) => line.hash === hash)?.count ?? 0;
}

/**
 * The list of hashes in a file, such as the offline copy of Pwned Passwords (some 40 GB): nothing of it is kept in memory. It is opened for each look-up, so
 * a newer one that is moved to its place is used from then on.
 * @throws {HashFileError} when it can't be read, has other lines, or isn't sorted, as far as 16 MiB all over it tell
 */
export function openHashFile(path: string): HashFile {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    throw new HashFileError(`can not be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`);
  }
  try {
    checkLines(descriptor);
  } catch (error) {
    if (error instanceof HashFileError) throw error;
    throw new HashFileError(`can not be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`);
  } finally {
    closeSync(descriptor);
  }
  return {
    async countOf(hash) {
      const file = await open(path, 'r');
      try {
        return await search(file, hash);
      } finally {
        await file.close();
      }
    },
  };
}
