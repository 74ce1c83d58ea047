import { rowFunctions, type RecordRow } from '../records.js';
import { insertMissing, run, table, type Scope } from '../scope.js';

/** A row of `permissions`; `name` is the scope of its API resource. */
export type PermissionRow = RecordRow & {
  api_resource_id: string;
  name: string;
  description: string | null;
  is_system: boolean;
  /** Scopes of tokens that were issued before are of another one, which had its name then; null: all of its name are its own. */
  tokens_not_before: Date | null;
};

export const listPermissionsOfResource = async (scope: Scope, api_resource_id: string): Promise<PermissionRow[]> =>
  table<PermissionRow>(scope, 'permissions').where({ api_resource_id }).orderBy('name');

/** Roles lose a permission that is deleted. */
export const { insert: insertPermission, update: updatePermission, remove: deletePermission } = rowFunctions<PermissionRow>('permissions');

/** Stores permissions of one resource in one statement; those whose name it has already stay as they are. */
export async function insertPermissions(scope: Scope, rows: readonly Partial<PermissionRow>[]): Promise<void> {
  await insertMissing<PermissionRow>(scope, 'permissions', rows);
}

/** Names of a resource's permissions that the user holds through roles. */
export async function listPermissionNamesOfUser(scope: Scope, user_id: string, identifier: string): Promise<string[]> {
  const text = `select distinct p.name from user_roles u
      join role_permissions rp on rp.environment_id = u.environment_id and rp.role_id = u.role_id
      join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id
      join api_resources r on r.environment_id = p.environment_id and r.id = p.api_resource_id
    where u.environment_id = $1 and u.user_id = $2 and r.identifier = $3 order by p.name`;
  const rows = await run<{ name: string }>(scope, { name: 'permissions.of_user', text }, [user_id, identifier]);
  return rows.map((row) => row.name);
}

/**
 * What is asked when somebody signs in with a browser that is new to them, at once: whether they hold permissions of the resource, and whether the environment
 * has words of its own for the mail that tells them.
 */
export async function findNewcomerFacts(
  scope: Scope,
  user_id: string,
  identifier: string,
  mail: string,
): Promise<{ readonly holds_any: boolean; readonly has_template: boolean }> {
  const text = `select exists (select 1 from permissions p
        join api_resources r on r.environment_id = p.environment_id and r.id = p.api_resource_id
        join role_permissions rp on rp.environment_id = p.environment_id and rp.permission_id = p.id
        join user_roles u on u.environment_id = rp.environment_id and u.role_id = rp.role_id
      where u.environment_id = $1 and u.user_id = $2 and r.identifier = $3) as holds_any,
      exists (select 1 from mail_templates where environment_id = $1 and name = $4) as has_template`;
  const [facts] = await run<{ holds_any: boolean; has_template: boolean }>(scope, { name: 'permissions.newcomer_facts', text }, [
    user_id,
    identifier,
    mail,
  ]);
  return facts ?? { holds_any: false, has_template: true };
}

export type DescribedScope = { name: string; description: string | null; identifier: string };

export async function listDescribedScopes(scope: Scope, identifiers: readonly string[]): Promise<DescribedScope[]> {
  if (identifiers.length === 0) return [];
  const rows: unknown = await table<PermissionRow>(scope, 'permissions')
    .join('api_resources as r', (on) =>
      on.on('r.environment_id', 'permissions.environment_id').andOn('r.id', 'permissions.api_resource_id'),
    )
    .whereIn('r.identifier', [...identifiers])
    .select('permissions.name', 'permissions.description', 'r.identifier');
  return rows as DescribedScope[];
}

/** Names of a resource's permissions that a member of the organization holds there. */
export async function listPermissionNamesOfMember(
  scope: Scope,
  organization_id: string,
  user_id: string,
  identifier: string,
): Promise<string[]> {
  const text = 'select member_permissions_held($1, $2, $3, $4) as names';
  const [row] = await run<{ names: string[] }>(scope, { name: 'permissions.of_member', text }, [organization_id, user_id, identifier]);
  return row?.names ?? [];
}

/**
 * SQL: names of the permissions that a user holds at the API resource of an identifier, empty without a user or a resource; for statements
 * whose first parameter is the environment. With an organization those of the membership alone. All are expressions. The tables behind it are touched only
 * when there are user and resource.
 */
export const permissionsHeldSql = ({
  user_id,
  resource,
  organization_id,
}: {
  readonly user_id: string;
  readonly resource: string;
  readonly organization_id: string | null;
}) =>
  `case when ${user_id} is null or ${resource} is null then '{}'::text[]
    ${organization_id === null ? '' : `when ${organization_id} is not null then member_permissions_held($1::uuid, ${organization_id}, ${user_id}, ${resource})`}
    else permissions_held($1::uuid, ${user_id}, ${resource}) end`;

/**
 * SQL: whether what is issued for an organization may still be used: by an active member, who was not out of it since, while it is enabled. True without an
 * organization.
 */
export const memberStandsSql = ({
  user_id,
  organization_id,
  issued_at,
}: {
  readonly user_id: string;
  readonly organization_id: string;
  readonly issued_at: string;
}) => `(${organization_id} is null or is_member($1::uuid, ${organization_id}, ${user_id}, ${issued_at}))`;

/** Those of the names that are permissions of an API resource other than the Management API. */
export async function listNamesBeyondManagement(scope: Scope, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  return (await table<PermissionRow>(scope, 'permissions')
    .where({ is_system: false } as never)
    .whereIn('name' as never, [...names])
    .distinct('name')
    .pluck('name')) as string[];
}
