import { createHash, type Hash } from 'node:crypto';
import type { Rows } from '../../db/backup/load.js';
import { BackupRefusal } from '../../db/backup/refusal.js';
import type { Sealer } from '../../lib/seal.js';
import { readArchive, type Member } from './archive.js';
import {
  altered,
  manifestFormat,
  headerSchema,
  parsed,
  refuseNewerSchema,
  truncated,
  verifiedManifest,
  type Manifest,
} from './manifest.js';

/** The members of a backup: the header first, then rows, then the manifest, which knows their digests. */
export const memberNames = { header: 'backup.json', manifest: 'manifest.json', mac: 'manifest.hmac-sha256' } as const;

/** The name of the n-th member with rows of a table. */
export const rowsMember = (table: string, n: number): string => `tables/${table}/${String(n).padStart(6, '0')}`;

const tableOf = ({ name }: Member): string | null => /^tables\/([^/]+)\/\d+$/.exec(name)?.[1] ?? null;

/** Digest and length of what came of each table. */
class Digests {
  readonly #tables = new Map<string, { hash: Hash; bytes: number }>();

  add(table: string, data: Buffer): void {
    const known = this.#tables.get(table) ?? { hash: createHash('sha256'), bytes: 0 };
    known.hash.update(data);
    known.bytes += data.length;
    this.#tables.set(table, known);
  }

  /** @throws {BackupRefusal} unless exactly what the manifest tells of has come */
  require({ tables }: Manifest): void {
    const none = createHash('sha256').digest('hex');
    for (const { name, bytes, sha256 } of tables) {
      const came = this.#tables.get(name);
      if ((came?.bytes ?? 0) !== bytes || (came?.hash.digest('hex') ?? none) !== sha256) throw altered(`the rows of ${name} are others`);
      this.#tables.delete(name);
    }
    const [strange] = this.#tables.keys();
    if (strange !== undefined) throw altered(`it has rows of ${strange}`);
  }
}

function requireHeader(path: string, member: Member): void {
  const header = member.name === memberNames.header ? parsed(headerSchema, member.data.toString()) : null;
  if (!header) throw new BackupRefusal(`${path} is no backup of this service: name a file that npm run -s backup has written.`);
  if (header.format === manifestFormat) return;
  throw new BackupRefusal(
    `the backup has the layout ${header.format} of release ${header.release}, this release reads ${manifestFormat}: restore it with release ${header.release}.`,
  );
}

/**
 * Reads a backup from its beginning to its end: it is whole, unaltered, made with a key that is given, and of a schema that this release knows.
 * @throws {BackupRefusal} that says what is wrong and what to do
 */
export async function checkBackup(path: string, sealer: Sealer): Promise<Manifest> {
  const digests = new Digests();
  let first = true;
  let text: string | null = null;
  let manifest: Manifest | null = null;
  for await (const member of readArchive(path)) {
    if (first) requireHeader(path, member);
    else if (manifest !== null) throw altered(`${member.name} follows its manifest`);
    else if (text !== null) {
      if (member.name !== memberNames.mac) throw altered('its manifest isn’t authenticated');
      manifest = verifiedManifest(text, member.data.toString(), sealer);
    } else if (member.name === memberNames.manifest) text = member.data.toString();
    else {
      const table = tableOf(member);
      if (table === null) throw altered(`it has a member ${member.name}`);
      digests.add(table, member.data);
    }
    first = false;
  }
  if (manifest === null) throw truncated();
  await refuseNewerSchema(manifest);
  digests.require(manifest);
  return manifest;
}

/**
 * The rows of a checked backup.
 * @throws {BackupRefusal} at their end, when they aren't those of the manifest any more
 */
export async function* rowsOf(path: string, manifest: Manifest): AsyncGenerator<Rows> {
  const digests = new Digests();
  for await (const member of readArchive(path)) {
    const table = tableOf(member);
    if (table === null) continue;
    digests.add(table, member.data);
    yield { table, data: member.data };
  }
  digests.require(manifest);
}
