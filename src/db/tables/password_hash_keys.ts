import { rowFunctions } from '../records.js';
import { table, type Scope } from '../scope.js';

/** A row of `password_hash_keys`: what hashes of a Firebase project are checked with. */
export type PasswordHashKeyRow = { environment_id: string; id: string; key_sealed: Buffer; created_at: Date };

export const { find: findPasswordHashKey, insert: insertPasswordHashKey } = rowFunctions<PasswordHashKeyRow>('password_hash_keys');

/** The newest hundred. */
export const listPasswordHashKeys = async (scope: Scope): Promise<PasswordHashKeyRow[]> =>
  table<PasswordHashKeyRow>(scope, 'password_hash_keys').orderBy('created_at', 'desc').limit(100);
