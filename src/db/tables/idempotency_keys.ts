import { insert, table, type Scope } from '../scope.js';

/** A row of `idempotency_keys`: what a write with this key was answered. */
export type IdempotencyKeyRow = { environment_id: string; digest: Buffer; fingerprint: Buffer; reply_sealed: Buffer; created_at: Date };

/** The stored reply of the key, or null. Older than `since` counts as gone. */
export const findIdempotencyKey = async (scope: Scope, digest: Buffer, since: Date): Promise<IdempotencyKeyRow | null> =>
  (await table<IdempotencyKeyRow>(scope, 'idempotency_keys').where({ digest }).where('created_at', '>', since).first()) ?? null;

/** Whether this transaction is the only one that works on the key; the lock ends with the transaction. */
export async function lockIdempotencyKey(scope: Scope, digest: Buffer): Promise<boolean> {
  const result = await scope.knex.raw<{ rows: { locked: boolean }[] }>('select pg_try_advisory_xact_lock(?::bigint) as locked', [
    digest.readBigInt64BE(0).toString(),
  ]);
  return result.rows[0]?.locked === true;
}

/** Stores the reply, replacing an expired one of the same key. */
export async function insertIdempotencyKey(scope: Scope, row: Omit<IdempotencyKeyRow, 'environment_id'>): Promise<void> {
  await table<IdempotencyKeyRow>(scope, 'idempotency_keys').where({ digest: row.digest }).delete();
  await insert<IdempotencyKeyRow>(scope, 'idempotency_keys', row);
}
