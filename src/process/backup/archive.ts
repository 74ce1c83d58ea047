import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { finished, pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { extract, pack } from 'tar-stream';
import { BackupRefusal } from '../../db/backup/refusal.js';
import { altered, truncated } from './manifest.js';

export type Member = { readonly name: string; readonly data: Buffer };

/** Far more than a member of ours has: some rows, or the manifest. */
const maxMemberBytes = 1024 ** 3;

/**
 * Writes a compressed tar archive that only its owner may read. It gets its name when it is whole and on the disk; until then it is called
 * `<path>.partial`, and goes when something fails.
 */
export async function writeArchive(path: string, fill: (add: (member: Member) => Promise<void>) => Promise<void>): Promise<void> {
  const partial = `${path}.partial`;
  const archive = pack();
  // Left by a process that was killed; the file is made anew so that its mode is ours.
  await rm(partial, { force: true });
  const written = pipeline(archive, createGzip(), createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true }));
  const broken = written.then(() => new Promise<never>(() => undefined));
  broken.catch(() => undefined);
  const add = ({ name, data }: Member) =>
    Promise.race([
      broken,
      new Promise<void>((resolve, reject) => {
        archive.entry({ name, size: data.length, mode: 0o600 }, data, (error) => (error ? reject(error) : resolve()));
      }),
    ]);
  try {
    await fill(add);
    archive.finalize();
    await written;
    await rename(partial, path);
  } catch (error) {
    archive.destroy();
    await written.catch(() => undefined);
    await rm(partial, { force: true });
    throw error;
  }
}

function explained(error: unknown, path: string, begun: boolean): unknown {
  const { code, message, syscall } = error as NodeJS.ErrnoException;
  if (syscall !== undefined)
    return new BackupRefusal(`${path} can't be read (${code}): name a backup that this user may read.`, { cause: error });
  if (code === 'Z_BUF_ERROR' || message === 'Unexpected end of data') return truncated();
  if (!begun)
    return new BackupRefusal(`${path} is no backup of this service: name a file that npm run -s backup has written.`, { cause: error });
  if (code?.startsWith('Z_') || /^Invalid tar header|^Invalid header|^Header exceeds/.test(message)) return altered(message);
  return error;
}

/**
 * The members of an archive in their order, each whole.
 * @throws {BackupRefusal} when the file can't be read, is truncated or altered so that it is no archive any more
 */
export async function* readArchive(path: string): AsyncGenerator<Member> {
  let begun = false;
  const archive = extract();
  const fed = pipeline(createReadStream(path), createGunzip(), archive);
  fed.catch(() => undefined);
  try {
    for await (const entry of archive) {
      const { name, size } = entry.header;
      if (size > maxMemberBytes) throw altered(`its member ${name} is too large`);
      const chunks: Buffer[] = [];
      for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk);
      begun = true;
      yield { name, data: Buffer.concat(chunks) };
    }
    await fed;
  } catch (error) {
    throw explained(error, path, begun);
  } finally {
    archive.destroy();
    await finished(archive).catch(() => undefined);
  }
}
