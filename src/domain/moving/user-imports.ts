import {
  addImportData,
  countUnfinishedImports,
  insertUserImport,
  removeImportData,
  updateUserImport,
  wakeImports,
  type UserImportRow,
} from '../../db/tables/user_imports.js';
import { uuidv7 } from '../../lib/random.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import type { FirebaseKey } from '../passwords/hash-formats.js';
import { invalidTransition, Refusal } from '../refusal.js';
import { saveFirebaseKey } from '../users/imported-hashes.js';

// Every operation takes the context of a transaction.

export type UserImportInput = {
  readonly mode: UserImportRow['mode'];
  readonly dry_run?: boolean;
  readonly emit_events?: boolean;
  readonly addresses_proven?: boolean;
  readonly hash_parameters?: FirebaseKey;
  readonly source_url?: string | null;
};

/** Imports that are not over, in an environment: each may hold a gigabyte. */
const maxUnfinished = 10;
/** The longest file, as it is sent and unpacked. */
export const maxImportBytes = 1024 * 1024 * 1024;

/**
 * Makes an import, which waits for its data, or for its turn where it is told where they are. What it does it does as its maker, who has to hold it all then too.
 * @throws {Refusal} 409 `too_many`
 */
export async function createUserImport(tx: Context, actor: Actor, input: UserImportInput): Promise<UserImportRow> {
  if ((await countUnfinishedImports(tx.scope)) >= maxUnfinished)
    throw new Refusal({ status: 409, code: 'too_many', detail: `At most ${maxUnfinished} imports wait or run at a time.` });
  const { hash_parameters, source_url = null, ...rest } = input;
  const now = tx.clock.now();
  const id = uuidv7(now.getTime());
  const hash_key_id = hash_parameters ? await saveFirebaseKey(tx, id, hash_parameters) : null;
  if (source_url !== null) await wakeImports(tx.scope);
  return insertUserImport(tx.scope, {
    ...rest,
    id,
    source_url,
    hash_key_id,
    status: source_url === null ? 'awaiting_data' : 'queued',
    actor_kind: actor.actor_kind === 'user' ? 'user' : 'client',
    actor_id: actor.actor_id,
    actor_display: actor.display,
    actor_permissions: [...actor.permissions],
    acts_in_full: actor.acts_in_full === true,
    created_at: now,
    updated_at: now,
  });
}

/** A part of a file: its first byte, and how long the whole is; null while that isn't known. */
export type FilePart = { readonly data: Buffer; readonly start: number; readonly total: number | null; readonly is_compressed: boolean };

const wrongRange = ({ received_bytes }: UserImportRow, detail: string) =>
  new Refusal({ status: 409, code: 'wrong_range', detail, meta: { received_bytes } });

/** Keeps the next part of the file; with the last one the import waits for its turn. @throws {Refusal} 409 `wrong_range`, `invalid_transition` */
export async function receiveImportData(tx: Context, row: UserImportRow, part: FilePart): Promise<UserImportRow> {
  if (row.status !== 'awaiting_data') throw invalidTransition('The import has its data.');
  const { data, start, total, is_compressed } = part;
  if (start !== row.received_bytes) throw wrongRange(row, 'Go on where the last part ended: `received_bytes` says where.');
  if (start > 0 && is_compressed !== row.is_compressed) throw wrongRange(row, 'All parts have the same Content-Encoding.');
  if (row.total_bytes !== null && total !== null && total !== row.total_bytes) throw wrongRange(row, 'All parts name the same length.');
  const received_bytes = start + data.length;
  if (received_bytes > maxImportBytes || (total ?? 0) > maxImportBytes)
    throw new Refusal({
      status: 409,
      code: 'wrong_range',
      detail: 'A file has at most 1 GiB.',
      meta: { received_bytes: row.received_bytes },
    });
  const now = tx.clock.now();
  await addImportData(tx.scope, row.id, data, now);
  const isWhole = received_bytes === total;
  if (isWhole) await wakeImports(tx.scope);
  const changes = {
    received_bytes,
    total_bytes: total,
    is_compressed,
    status: isWhole ? 'queued' : 'awaiting_data',
    updated_at: now,
  } as const;
  return (await updateUserImport(tx.scope, row.id, changes)) ?? row;
}

/** Ends an import that isn't over; the users that it has made stay. @throws {Refusal} 409 */
export async function cancelUserImport(tx: Context, row: UserImportRow): Promise<UserImportRow> {
  if (row.finished_at !== null) throw invalidTransition('The import is over.');
  const now = tx.clock.now();
  await removeImportData(tx.scope, row.id);
  return (await updateUserImport(tx.scope, row.id, { status: 'cancelled', lease_id: null, finished_at: now, updated_at: now })) ?? row;
}
