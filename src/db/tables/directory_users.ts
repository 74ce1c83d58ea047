import type { DirectoryCondition } from '../lists/directory-filter.js';
import { findIn, type FoundRows, type RowRange } from '../lists/directory-rows.js';
import { rowFunctions, type RecordRow } from '../records.js';
import { run, table, type Scope } from '../scope.js';

/** A row of `directory_users`: a person as the directory has them, linked to their account. */
export type DirectoryUserRow = RecordRow & {
  directory_id: string;
  user_id: string;
  user_name: string;
  user_name_key: string;
  external_id: string | null;
  active: boolean;
  /** What else the directory says (RFC 7643 4.1, 4.3). */
  resource: Record<string, unknown>;
  folded: Record<string, unknown>;
  membership_suspended: boolean;
};

export const findDirectoryUsers = (
  scope: Scope,
  directory_id: string,
  condition: DirectoryCondition | null,
  page: RowRange,
): Promise<FoundRows<DirectoryUserRow>> => findIn<DirectoryUserRow>(scope, 'directory_users', directory_id, condition, page);

export async function findDirectoryUser(scope: Scope, directory_id: string, id: string): Promise<DirectoryUserRow | null> {
  const text = 'select * from directory_users where environment_id = $1 and directory_id = $2 and id = $3';
  const rows = await run<DirectoryUserRow>(scope, { name: 'directory_users.find', short: 'look_up', text }, [directory_id, id]);
  return rows[0] ?? null;
}

/** The same, held until the transaction ends. */
export async function lockDirectoryUser(scope: Scope, directory_id: string, id: string): Promise<DirectoryUserRow | null> {
  const found = await table<DirectoryUserRow>(scope, 'directory_users').where({ directory_id, id }).forUpdate().first();
  return found ?? null;
}

/** Unique indexes refuse a second person of a name, an external id or an account. */
export const {
  insert: insertDirectoryUser,
  update: updateDirectoryUser,
  remove: deleteDirectoryUser,
} = rowFunctions<DirectoryUserRow>('directory_users');

/** Somebody else decides about the membership from now on: the directory takes back nothing that it has done to it. */
export async function forgetDirectorySuspension(scope: Scope, organization_id: string, user_id: string): Promise<void> {
  const text = `update directory_users u set membership_suspended = false from directories d
    where u.environment_id = $1 and u.user_id = $3 and u.membership_suspended
      and d.environment_id = u.environment_id and d.id = u.directory_id and d.organization_id = $2`;
  await run(scope, { name: 'directory_users.forget_suspension', text }, [organization_id, user_id]);
}

/** A group that a person is in. */
export type GroupOfUser = { readonly directory_user_id: string; readonly id: string; readonly display_name: string };

/** The groups of people, at most `limit` rows in all. */
export async function listGroupsOfUsers(scope: Scope, ids: readonly string[], limit: number): Promise<GroupOfUser[]> {
  const text = `select m.directory_user_id, g.id, g.display_name from organization_group_members m
    join organization_groups g on g.environment_id = m.environment_id and g.id = m.group_id
    where m.environment_id = $1 and m.directory_user_id = any ($2::uuid[]) order by g.display_name_key, g.id limit $3`;
  return run<GroupOfUser>(scope, { name: 'directory_users.groups', short: 'look_up', text }, [ids, limit]);
}
