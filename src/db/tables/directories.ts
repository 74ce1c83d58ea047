import { rowFunctions, type RecordRow } from '../records.js';
import { run, update, type Scope } from '../scope.js';

/** A row of `directories`: how an organization's directory tells of its people (SCIM). */
export type DirectoryRow = RecordRow & {
  organization_id: string;
  status: 'enabled' | 'disabled';
  token_digest: Buffer;
  /** The last four characters of the token. */
  token_hint: string;
  previous_token_digest: Buffer | null;
  previous_token_expires_at: Date | null;
  last_used_at: Date | null;
};

/** The enabled directory of an enabled organization for which the token is good, the present one or the one before; null without one. */
export async function findDirectoryByToken(scope: Scope, id: string, digest: Buffer, now: Date): Promise<DirectoryRow | null> {
  const text = `select d.* from directories d join organizations o on o.environment_id = d.environment_id and o.id = d.organization_id
    where d.environment_id = $1 and d.id = $2 and d.status = 'enabled' and o.status = 'enabled'
      and (d.token_digest = $3 or (d.previous_token_digest = $3 and d.previous_token_expires_at > $4))`;
  const rows = await run<DirectoryRow>(scope, { name: 'directories.find_by_token', short: 'look_up', text }, [id, digest, now]);
  return rows[0] ?? null;
}

/** The unique index refuses a second directory of an organization. */
export const { insert: insertDirectory, update: updateDirectory, remove: deleteDirectory } = rowFunctions<DirectoryRow>('directories');

/** Replaces the token and keeps the one before until `previous_token_expires_at`, in one UPDATE. */
export const rotateDirectoryToken = async (
  scope: Scope,
  id: string,
  next: Pick<DirectoryRow, 'token_digest' | 'token_hint' | 'previous_token_expires_at' | 'updated_at'>,
): Promise<DirectoryRow | null> =>
  update<DirectoryRow>(scope, 'directories', { id }, { ...next, previous_token_digest: scope.knex.raw('token_digest') as never });

/** Notes that the directory was heard of; neither version nor `updated_at` change. */
export async function noteDirectoryUse(scope: Scope, id: string, at: Date): Promise<void> {
  const text = 'update directories set last_used_at = $3 where environment_id = $1 and id = $2';
  await run(scope, { name: 'directories.note_use', text }, [id, at]);
}
