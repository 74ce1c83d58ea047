import type { Knex } from 'knex';
import { rowFunctions, type RecordRow } from '../records.js';
import { holdLock, insertMissing, remove, run, table, update, type Scope } from '../scope.js';
import { servedSql } from '../served.js';
import { runSystem } from '../system.js';

export const importModes = ['create', 'upsert'] as const;
export const importStatuses = ['awaiting_data', 'queued', 'running', 'succeeded', 'partial', 'failed', 'cancelled'] as const;
/** Milliseconds for which nobody else takes an import whose process says nothing more of it. */
export const importLeaseMs = 60_000;
export type ImportStatus = (typeof importStatuses)[number];

/** How many rows came out in which way. */
export type ImportCounts = {
  row_count: number;
  created_count: number;
  updated_count: number;
  unchanged_count: number;
  failed_count: number;
};

export type UserImportRow = RecordRow &
  ImportCounts & {
    mode: (typeof importModes)[number];
    dry_run: boolean;
    emit_events: boolean;
    /** Whether what rows say in `email_verified` counts. */
    addresses_proven: boolean;
    hash_key_id: string | null;
    source_url: string | null;
    status: ImportStatus;
    is_compressed: boolean;
    received_bytes: number;
    total_bytes: number | null;
    read_bytes: number;
    line_count: number;
    error: string | null;
    actor_kind: 'user' | 'client';
    actor_id: string | null;
    actor_display: string;
    actor_permissions: string[];
    acts_in_full: boolean;
    lease_id: string | null;
    leased_until: Date | null;
    finished_at: Date | null;
  };

/** What a row of the file was refused for. */
export type ImportErrorRow = {
  environment_id: string;
  id: string;
  import_id: string;
  line: number;
  code: string;
  pointer: string | null;
  detail: string;
  created_at: Date;
};

type ImportKeyRow = { environment_id: string; import_id: string; key: string };
type ImportChunkRow = { environment_id: string; import_id: string; seq: number; data: Buffer; created_at: Date };

export const unfinished: readonly ImportStatus[] = ['awaiting_data', 'queued', 'running'];

/** How many imports of the environment are not over: so many until the transaction ends, but for its own. */
export async function countUnfinishedImports(scope: Scope): Promise<number> {
  await holdLock(scope, 'user_imports');
  const [row] = await table<UserImportRow>(scope, 'user_imports')
    .whereIn('status', [...unfinished])
    .count('* as count');
  return Number((row as unknown as { count: string } | undefined)?.count ?? 0);
}

export const { find: findUserImport, insert: insertUserImport, update: updateUserImport } = rowFunctions<UserImportRow>('user_imports');

/** Tells the processes that an import waits, once the transaction is committed. */
export async function wakeImports(scope: Scope): Promise<void> {
  await scope.knex.raw(`select notify_after_commit('outbox', 'user_imports')`);
}

/** Changes an import whose lease is still the one of `lease_id`, and returns it as it is then; null when it was lost, or the import cancelled. */
export const updateLeasedImport = async (
  scope: Scope,
  id: string,
  lease_id: string,
  changes: Partial<UserImportRow>,
): Promise<UserImportRow | null> => update<UserImportRow>(scope, 'user_imports', { id, lease_id, status: 'running' }, changes);

/** Takes the import that has waited longest, of all environments, and whose work nobody else has; null when there is none. */
export async function claimUserImport(
  knex: Knex,
  { lease_id, now, leased_until }: { readonly lease_id: string; readonly now: Date; readonly leased_until: Date },
): Promise<UserImportRow | null> {
  const text = `update user_imports set status = 'running', lease_id = $1, leased_until = $3, updated_at = $2, version = version + 1
    where (environment_id, id) = (select environment_id, id from user_imports
      where status in ('queued', 'running') and ${servedSql('environment_id')} and (leased_until is null or leased_until <= $2)
      order by created_at limit 1 for update skip locked) returning *`;
  const rows = await runSystem<UserImportRow>(knex, { name: 'user_imports.claim', text }, [lease_id, now, leased_until]);
  return rows[0] ?? null;
}

/** Bytes of a chunk: what is read of a file at once. */
const chunkBytes = 512 * 1024;

export async function addImportData(scope: Scope, import_id: string, data: Buffer, created_at: Date): Promise<void> {
  const [last] = await table<ImportChunkRow>(scope, 'user_import_chunks').where({ import_id }).max('seq as seq');
  let seq = (last as unknown as { seq: number | null } | undefined)?.seq ?? 0;
  for (let from = 0; from < data.length; from += chunkBytes) {
    seq += 1;
    await insertMissing<ImportChunkRow>(scope, 'user_import_chunks', [
      { import_id, seq, data: data.subarray(from, from + chunkBytes), created_at },
    ]);
  }
}

export async function findImportChunk(scope: Scope, import_id: string, seq: number): Promise<Buffer | null> {
  const row = await table<ImportChunkRow>(scope, 'user_import_chunks').where({ import_id, seq }).first();
  return row?.data ?? null;
}

/** Deletes what was uploaded, and what was kept of it: it holds people's data, and password hashes. */
export async function removeImportData(scope: Scope, import_id: string): Promise<void> {
  await remove<ImportChunkRow>(scope, 'user_import_chunks', { import_id });
  await remove<ImportKeyRow>(scope, 'user_import_keys', { import_id });
}

/** Which of the keys rows had that were taken before. */
export async function findImportKeys(scope: Scope, import_id: string, keys: readonly string[]): Promise<string[]> {
  const text = 'select key from user_import_keys where environment_id = $1 and import_id = $2 and key = any($3)';
  const rows = await run<{ key: string }>(scope, { name: 'user_imports.find_keys', text }, [import_id, keys]);
  return rows.map(({ key }) => key);
}

export async function insertImportKeys(scope: Scope, import_id: string, keys: readonly string[]): Promise<void> {
  scope.touched.add('user_import_keys');
  const text = 'insert into user_import_keys (environment_id, import_id, key) select $1, $2, unnest($3::text[])';
  await run(scope, { name: 'user_imports.insert_keys', text }, [import_id, keys]);
}

export async function insertImportErrors(scope: Scope, rows: readonly Omit<ImportErrorRow, 'environment_id'>[]): Promise<void> {
  if (rows.length === 0) return;
  scope.touched.add('user_import_errors');
  await scope.knex('user_import_errors').insert(rows.map((row) => ({ ...row, environment_id: scope.environment_id })));
}
