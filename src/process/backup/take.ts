import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Config } from '../../config.js';
import { BackupRefusal } from '../../db/backup/refusal.js';
import { withSnapshot, type Snapshot } from '../../db/backup/snapshot.js';
import type { TableShape } from '../../db/backup/tables.js';
import { migrationNames } from '../../db/migrations/migrate.js';
import { listEnvironments } from '../../db/tables/environments.js';
import { countSealedByKey } from '../../db/tables/sealed_columns.js';
import { listPublishedKids } from '../../db/tables/signing_keys.js';
import { ownRelease } from '../../domain/diagnostics/own-installation.js';
import type { Sealer } from '../../lib/seal.js';
import type { Clock } from '../../platform/clock.js';
import { writeArchive, type Member } from './archive.js';
import { memberNames, rowsMember } from './contents.js';
import { manifestFormat, sign, type Manifest, type ManifestTable } from './manifest.js';

type Add = (member: Member) => Promise<void>;

/** Rows are gathered until they have so many bytes: the most that is held in memory, but for a larger row. */
const memberBytes = 1024 ** 2;

async function addTable(add: Add, snapshot: Snapshot, table: TableShape): Promise<ManifestTable> {
  const hash = createHash('sha256');
  const stream = await snapshot.copy(table);
  let members = 0;
  let bytes = 0;
  let waiting: Buffer[] = [];
  let length = 0;
  const flush = async () => {
    if (length === 0) return;
    await add({ name: rowsMember(table.name, ++members), data: Buffer.concat(waiting) });
    waiting = [];
    length = 0;
  };
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
    length += chunk.length;
    waiting.push(chunk);
    if (length >= memberBytes) await flush();
  }
  await flush();
  return { ...table, columns: [...table.columns], rows: stream.rowCount, bytes, sha256: hash.digest('hex') };
}

/** Which keys of ours the values need: what a lost key sealed stays lost, and must not keep the rest from being restored. */
async function sealedWith({ knex, migrations }: Snapshot, sealer: Sealer): Promise<string[]> {
  // Before an upgrade some of the columns may not exist yet.
  if ((await migrationNames()).some((name) => !migrations.includes(name))) return [sealer.key_id];
  const counts = await countSealedByKey(knex);
  return [...counts.keys()].filter((id) => sealer.key_ids.includes(id)).sort();
}

async function publishedKeys({ knex }: Snapshot): Promise<Manifest['signing_keys']> {
  const slugs = new Map((await listEnvironments(knex)).map(({ id, slug }) => [id, slug]));
  return (await listPublishedKids(knex)).map(({ environment_id, kid }) => ({ environment: slugs.get(environment_id) ?? '', kid }));
}

/**
 * Writes a backup of the whole database, as it is at one moment, into a new file that only its owner may read. The service may run meanwhile.
 * @throws {BackupRefusal}
 */
export async function takeBackup(
  { url, path }: { url: string; path: string },
  { config, sealer, clock }: { config: Pick<Config, 'baseUrl'>; sealer: Sealer; clock: Clock },
): Promise<Manifest> {
  if (await stat(path).catch(() => null)) throw new BackupRefusal(`${path} exists already: name a new file, or remove that one.`);
  return withSnapshot(url, async (snapshot) => {
    const manifest: Manifest = {
      format: manifestFormat,
      release: ownRelease(),
      created_at: clock.now().toISOString(),
      base_url: config.baseUrl,
      key_id: sealer.key_id,
      sealed_with: await sealedWith(snapshot, sealer),
      migrations: [...snapshot.migrations],
      tables: [],
      sequences: await snapshot.sequences(),
      signing_keys: await publishedKeys(snapshot),
    };
    const write = writeArchive(path, async (add) => {
      await add({ name: memberNames.header, data: Buffer.from(JSON.stringify({ format: manifestFormat, release: manifest.release })) });
      for (const table of snapshot.tables) manifest.tables.push(await addTable(add, snapshot, table));
      const { text, mac } = sign(manifest, sealer);
      await add({ name: memberNames.manifest, data: Buffer.from(text) });
      await add({ name: memberNames.mac, data: Buffer.from(mac) });
    });
    await write.catch((error: NodeJS.ErrnoException) => {
      if (error.syscall === undefined) throw error;
      throw new BackupRefusal(`${path} can't be written (${error.code}): name a file where there is room and this user may write.`, {
        cause: error,
      });
    });
    return manifest;
  });
}
