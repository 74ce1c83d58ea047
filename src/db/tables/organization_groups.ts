import type { DirectoryCondition } from '../lists/directory-filter.js';
import { linkFunctions, rowFunctions, type RecordRow } from '../records.js';
import { run, table, type Scope } from '../scope.js';
import { findIn, type FoundRows, type RowRange } from '../lists/directory-rows.js';

/** A row of `organization_groups`: a group of a directory. Its name means nothing; the roles that it is given do. */
export type OrganizationGroupRow = RecordRow & {
  organization_id: string;
  directory_id: string;
  display_name: string;
  display_name_key: string;
  external_id: string | null;
};

export const findGroups = (
  scope: Scope,
  directory_id: string,
  condition: DirectoryCondition | null,
  page: RowRange,
): Promise<FoundRows<OrganizationGroupRow>> => findIn<OrganizationGroupRow>(scope, 'organization_groups', directory_id, condition, page);

export async function findGroup(scope: Scope, directory_id: string, id: string): Promise<OrganizationGroupRow | null> {
  const text = 'select * from organization_groups where environment_id = $1 and directory_id = $2 and id = $3';
  const rows = await run<OrganizationGroupRow>(scope, { name: 'organization_groups.find', short: 'look_up', text }, [directory_id, id]);
  return rows[0] ?? null;
}

/** The same, held until the transaction ends. */
export const lockGroup = async (scope: Scope, directory_id: string, id: string): Promise<OrganizationGroupRow | null> =>
  (await table<OrganizationGroupRow>(scope, 'organization_groups').where({ directory_id, id }).forUpdate().first()) ?? null;

/** The unique index refuses a second group of an external id. */
export const { insert: insertGroup, update: updateGroup, remove: deleteGroup } = rowFunctions<OrganizationGroupRow>('organization_groups');

/** What became of a change of members: how many of those to add the directory has, and who came and went. */
export type MembersChanged = { readonly known: number; readonly added: number; readonly removed: number };

/**
 * Changes who is in a group, by one statement: `add` come, `remove` go, and with `replace` so does whoever isn't among `add`. Those who are there already stay; who isn't
 * in the directory isn't added.
 */
export async function changeGroupMembers(
  scope: Scope,
  { id, directory_id }: Pick<OrganizationGroupRow, 'id' | 'directory_id'>,
  { replace, add, remove: gone }: { readonly replace: boolean; readonly add: readonly string[]; readonly remove: readonly string[] },
): Promise<MembersChanged> {
  const text = `with known as (
      select id from directory_users where environment_id = $1 and directory_id = $3 and id = any ($4::uuid[])
    ), removed as (
      delete from organization_group_members where environment_id = $1 and group_id = $2
        and (directory_user_id = any ($5::uuid[]) or ($6::boolean and directory_user_id <> all ($4::uuid[])))
      returning directory_user_id
    ), added as (
      insert into organization_group_members (environment_id, group_id, directory_user_id)
      select $1, $2, id from known on conflict do nothing returning directory_user_id
    )
    select (select count(*)::integer from known) as known, (select count(*)::integer from added) as added,
      (select count(*)::integer from removed) as removed`;
  const rows = await run<MembersChanged>(scope, { name: 'organization_groups.change_members', text }, [
    id,
    directory_id,
    add,
    gone,
    replace,
  ]);
  return rows[0] as MembersChanged;
}

/** A person in a group. */
export type GroupMember = { readonly group_id: string; readonly id: string };

/** The members of groups, at most `limit` rows in all. */
export async function listMembersOfGroups(scope: Scope, ids: readonly string[], limit: number): Promise<GroupMember[]> {
  const text = `select group_id, directory_user_id as id from organization_group_members
    where environment_id = $1 and group_id = any ($2::uuid[]) order by group_id, directory_user_id limit $3`;
  return run<GroupMember>(scope, { name: 'organization_groups.members', short: 'look_up', text }, [ids, limit]);
}

export const {
  listIds: listRoleIdsOfGroup,
  add: addGroupRoles,
  remove: removeGroupRoles,
} = linkFunctions('organization_group_roles', 'group_id', 'role_id', 'roles');
