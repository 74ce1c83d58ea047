import { z } from 'zod';
import { BackupRefusal } from '../../db/backup/refusal.js';
import { sinceBaseline } from '../../db/migrations/baseline.js';
import { migrationNames } from '../../db/migrations/migrate.js';
import type { Sealer } from '../../lib/seal.js';

/** Of how a backup is laid out; another number is another layout. */
export const manifestFormat = 1;

/** The first member of a backup: what it is, before anything else is read. */
export const headerSchema = z.object({ format: z.number(), release: z.string() });

const tableSchema = z.object({
  name: z.string(),
  columns: z.array(z.string()),
  rows: z.number().int(),
  /** Of the rows in PostgreSQL's text form of COPY. */
  bytes: z.number().int(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const manifestSchema = z.object({
  format: z.literal(manifestFormat),
  release: z.string(),
  created_at: z.iso.datetime(),
  base_url: z.string(),
  /** The id of the SECRET_KEY that the manifest is authenticated with. */
  key_id: z.string(),
  /** The ids of all keys that have sealed something that is in the backup. */
  sealed_with: z.array(z.string()),
  migrations: z.array(z.string()),
  tables: z.array(tableSchema),
  sequences: z.array(z.object({ name: z.string(), last_value: z.string().regex(/^-?\d+$/), is_called: z.boolean() })),
  /** The published signing keys, whose `kid` is their thumbprint (RFC 7638). */
  signing_keys: z.array(z.object({ environment: z.string(), kid: z.string() })),
});

/** What is in a backup, and what proves that it is unaltered. */
export type Manifest = z.infer<typeof manifestSchema>;
export type ManifestTable = Manifest['tables'][number];

/** A manifest's text and what authenticates it: whoever alters a backup can't make that anew without SECRET_KEY. */
export function sign(manifest: Manifest, sealer: Sealer): { text: string; mac: string } {
  const text = JSON.stringify(manifest, null, 2);
  return { text, mac: sealer.digest('backup', text).toString('hex') };
}

export const altered = (what: string): BackupRefusal =>
  new BackupRefusal(`the backup isn't as it was made: ${what}. Copy it again from where it was written, or take another one.`);

export const truncated = (): BackupRefusal =>
  new BackupRefusal('the backup ends too early: it was cut off when it was written or copied. Copy it again, or take another one.');

/** JSON of the schema, or null. */
export function parsed<T>(schema: z.ZodType<T>, text: string): T | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

const setKey = (ids: readonly string[]) =>
  `the backup needs the SECRET_KEY with the id ${ids.join(', ')}: set it (the content of secret.key, if it came from an embedded database), or add it to SECRET_KEY_PREVIOUS`;

/**
 * The manifest of the text, if it was made with one of the sealer's keys and all keys that the backup needs are there.
 * @throws {BackupRefusal}
 */
export function verifiedManifest(text: string, mac: string, sealer: Sealer): Manifest {
  const manifest = parsed(manifestSchema, text);
  if (!manifest) throw altered('its manifest can’t be read');
  const unknown = [...new Set([manifest.key_id, ...manifest.sealed_with])].filter((id) => !sealer.key_ids.includes(id));
  if (unknown.length > 0) throw new BackupRefusal(`${setKey(unknown)}. Given: ${sealer.key_ids.join(', ')}.`);
  if (!sealer.isDigest('backup', text, Buffer.from(mac, 'hex'))) throw altered('its manifest was changed');
  return manifest;
}

/** @throws {BackupRefusal | OutdatedSchema} when the backup has a schema that this release doesn't know */
export async function refuseNewerSchema({ migrations, release: madeBy }: Manifest): Promise<void> {
  const known = new Set(await migrationNames());
  const newer = sinceBaseline(migrations).filter((name) => !known.has(name));
  if (newer.length === 0) return;
  throw new BackupRefusal(
    `the backup was made by a newer release (${madeBy}; this one lacks ${newer.join(', ')}): restore it with that release, or a later one.`,
  );
}
