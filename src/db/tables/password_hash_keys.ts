import { insert, table, type Scope } from '../scope.js';

/** A row of `password_hash_keys`: what hashes of a Firebase project are checked with. */
export type PasswordHashKeyRow = { environment_id: string; id: string; key_sealed: Buffer; created_at: Date };

export const insertPasswordHashKey = (scope: Scope, row: Omit<PasswordHashKeyRow, 'environment_id'>): Promise<PasswordHashKeyRow> =>
  insert<PasswordHashKeyRow>(scope, 'password_hash_keys', row);

export async function findPasswordHashKey(scope: Scope, id: string): Promise<PasswordHashKeyRow | null> {
  return (await table<PasswordHashKeyRow>(scope, 'password_hash_keys').where({ id }).first()) ?? null;
}

/** The newest hundred. */
export async function listPasswordHashKeys(scope: Scope): Promise<PasswordHashKeyRow[]> {
  return table<PasswordHashKeyRow>(scope, 'password_hash_keys').orderBy('created_at', 'desc').limit(100);
}
