import { findImportKeys, insertImportKeys, type UserImportRow } from '../../db/tables/user_imports.js';
import type { Scope } from '../../db/scope.js';
import type { ImportRow } from './rows.js';

/** What a row has that may stand once in a file. */
const keysOf = ({ email_key, input, identities }: ImportRow): { readonly key: string; readonly pointer: string }[] => [
  { key: JSON.stringify(['email', email_key]), pointer: '/email' },
  ...(input.external_id ? [{ key: JSON.stringify(['external_id', input.external_id]), pointer: '/external_id' }] : []),
  ...identities.map(({ connection, subject }, at) => ({
    key: JSON.stringify(['identity', connection, subject]),
    pointer: `/identities/${at}/subject`,
  })),
];

/** Whether the database doesn't tell who was taken before: a dry run leaves nobody there, and an upsert those of the file beside all others. */
const isKept = ({ dry_run, mode }: UserImportRow) => dry_run || mode === 'upsert';

/** What earlier rows of the file have. */
export class RowKeys {
  private constructor(readonly seen: Set<string>) {}

  static async before(scope: Scope, job: UserImportRow, rows: readonly ImportRow[]): Promise<RowKeys> {
    const keys = isKept(job) ? rows.flatMap(keysOf).map(({ key }) => key) : [];
    return new RowKeys(new Set(keys.length === 0 ? [] : await findImportKeys(scope, job.id, keys)));
  }

  /** Takes the row's; where an earlier row, or the row itself, has one already, that one's place in the row. */
  take(row: ImportRow): string | null {
    const keys = keysOf(row);
    const again = keys.find(({ key }, at) => this.seen.has(key) || keys.findIndex((one) => one.key === key) < at);
    if (again) return again.pointer;
    for (const { key } of keys) this.seen.add(key);
    return null;
  }
}

/** Keeps what rows have that were taken. */
export async function keepRowKeys(scope: Scope, job: UserImportRow, rows: readonly ImportRow[]): Promise<void> {
  if (!isKept(job) || rows.length === 0) return;
  await insertImportKeys(
    scope,
    job.id,
    rows.flatMap(keysOf).map(({ key }) => key),
  );
}
