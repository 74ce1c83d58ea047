import { randomBytes } from 'node:crypto';
import { appendFile, mkdir, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HashFileError, openHashFile } from '../../../src/platform/breached-passwords/hash-file.js';
import { sha1Of } from '../../support/breach-mirror.js';
import { directoryOfFile } from '../../support/temporary-directory.js';

const folder = directoryOfFile();
let sequence = 0;

async function file(content: string): Promise<string> {
  const path = join(folder, `hashes-${++sequence}.txt`);
  await writeFile(path, content);
  return path;
}

const hashes = (count: number) => Array.from({ length: count }, (_, i) => sha1Of(`password ${i}`)).sort();
const linesOf = (sorted: readonly string[], end = '\n') => sorted.map((hash, i) => `${hash}:${i + 1}`).join(end) + end;

/** The problem with which opening is refused. */
function problemOf(path: string): string {
  try {
    openHashFile(path);
  } catch (error) {
    if (error instanceof HashFileError) return error.problem;
    throw error;
  }
  return 'none';
}

describe('looking up', () => {
  test.each([
    ['one line', 1, '\n'],
    ['a few lines', 3, '\n'],
    ['thousands of lines', 6000, '\n'],
    ['thousands of lines that end in CRLF', 6000, '\r\n'],
  ])('finds each of %s, the first and the last too, and nothing else', async (_title, count, end) => {
    const sorted = hashes(count);
    const list = openHashFile(await file(linesOf(sorted, end)));
    for (const [i, hash] of sorted.entries())
      if (i % 97 === 0 || i > count - 3) expect([hash, await list.countOf(hash)]).toEqual([hash, i + 1]);
    for (let i = 0; i < 50; i++) expect(await list.countOf(randomBytes(20).toString('hex').toUpperCase())).toBe(0);
    expect([await list.countOf('0'.repeat(40)), await list.countOf('F'.repeat(40))]).toEqual([0, 0]);
  });

  test('the last line needs no end, digits may be small, and a count of 0 is none', async () => {
    const [one = '', two = '', three = ''] = hashes(3);
    const list = openHashFile(await file(`${one.toLowerCase()}:7\n${two.toLowerCase()}:0\n${three.toLowerCase()}:9`));
    expect([await list.countOf(one), await list.countOf(two), await list.countOf(three)]).toEqual([7, 0, 9]);
  });

  test('lines of all lengths are found wherever the bisection lands', async () => {
    const sorted = hashes(2000);
    const list = openHashFile(await file(sorted.map((hash, i) => `${hash}:${10 ** (i % 12)}\n`).join('')));
    for (const [i, hash] of sorted.entries()) expect(await list.countOf(hash)).toBe(10 ** (i % 12));
  });

  test('a newer file that is moved to the place of the old one is used at once', async () => {
    const path = await file(linesOf([sha1Of('old')]));
    const list = openHashFile(path);
    await rename(await file(linesOf([sha1Of('new')])), path);
    expect([await list.countOf(sha1Of('old')), await list.countOf(sha1Of('new'))]).toEqual([0, 1]);
  });

  test('a file that has gone, or was cut or overwritten, fails: that is not an answer', async () => {
    const sorted = hashes(500);
    const path = await file(linesOf(sorted));
    const list = openHashFile(path);
    await truncate(path, 10_000 * 2 + 10);
    await appendFile(path, Buffer.alloc(30_000));
    await expect(Promise.all(sorted.map((hash) => list.countOf(hash)))).rejects.toThrow(HashFileError);
    await rm(path);
    await expect(list.countOf(sorted[0] as string)).rejects.toThrow('ENOENT');
  });
});

describe('a file is refused at the start', () => {
  const sorted = hashes(5000);

  test.each([
    ['that is empty', '', 'is empty'],
    ['of plain passwords', 'letmein\nqwertyuiop\n', 'must have one SHA-1:COUNT a line: the one at byte 0'],
    ['of other hashes', `${'A'.repeat(32)}:5\n`, 'must have one SHA-1:COUNT a line'],
    ['of hashes without counts', `${sorted[0]}\n${sorted[1]}\n`, 'must have one SHA-1:COUNT a line'],
    ['without line ends', 'A'.repeat(200_000), 'must have one SHA-1:COUNT a line'],
    ['with an empty line', `${sorted[0]}:1\n\n${sorted[1]}:1\n`, 'the one at byte 43'],
    ['that is compressed', randomBytes(100_000).toString('latin1'), 'must have one SHA-1:COUNT a line'],
    ['sorted by count', linesOf(sorted.toReversed()), 'must be sorted by hash'],
    [
      'with two lines in the wrong order',
      linesOf([...sorted.slice(0, 4000), sorted[4001], sorted[4000], ...sorted.slice(4002)] as string[]),
      'must be sorted by hash',
    ],
    ['with its last line out of order', linesOf([...sorted.slice(1), sorted[0] as string]), 'must be sorted by hash'],
  ])('%s', async (_title, content, problem) => expect(problemOf(await file(content))).toContain(problem));

  test('that is not there, or a folder', async () => {
    expect(problemOf(join(folder, 'missing'))).toBe('can not be read: ENOENT');
    await mkdir(join(folder, 'folder'));
    expect(problemOf(join(folder, 'folder'))).toContain('must be a file');
  });

  test('that is large and out of order somewhere in the middle, by samples; one in order is taken, and its hashes are found', async () => {
    const first = hashes(30_000);
    const block = (digit: string) => first.map((hash) => `${digit}${hash.slice(1)}`).sort();
    const digits = [...'0123456789ABCDEF'];
    const inOrder = await file('');
    const swapped = await file('');
    for (const digit of digits) await appendFile(inOrder, linesOf(block(digit)));
    for (const digit of [...digits.slice(0, 8), 'C', ...digits.slice(8)]) await appendFile(swapped, linesOf(block(digit)));
    expect(problemOf(swapped)).toContain('must be sorted by hash');
    const list = openHashFile(inOrder);
    for (const digit of digits) expect(await list.countOf(block(digit)[12_345] as string)).toBe(12_346);
  });
});
