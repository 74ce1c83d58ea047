import type { Knex } from 'knex';
import { linkFunctions, rowFunctions, type RecordRow } from '../records.js';
import { insertMissing, table, update, type Scope } from '../scope.js';
import { runSystem } from '../system.js';

export type RoleRow = RecordRow & {
  name: string;
  description: string | null;
  /** Given to users, or to members of an organization, where alone it counts then. */
  kind: 'environment' | 'organization';
  is_default: boolean;
  is_system: boolean;
};

/** The role of the name, or null; `lock` holds its row until the end of the transaction. */
export async function findRoleByName(scope: Scope, name: string, options: { lock?: boolean } = {}): Promise<RoleRow | null> {
  const query = table<RoleRow>(scope, 'roles').where({ name }).first();
  return (await (options.lock ? query.forUpdate() : query)) ?? null;
}

/** A role whose name differs from this one in nothing but case, or spaces around it; null when there is none. */
export async function findRoleOfSpelling(scope: Scope, name: string): Promise<RoleRow | null> {
  const query = table<RoleRow>(scope, 'roles').whereRaw('lower(btrim(name)) = lower(?)', [name]);
  return ((await query.whereNot({ name }).first()) as RoleRow | undefined) ?? null;
}

export async function countRoleMembers(scope: Scope, role_id: string): Promise<number> {
  const rows = await table<{ role_id: string }>(scope, 'user_roles')
    .where({ role_id } as never)
    .count('* as count');
  return Number((rows as unknown as { count: number }[])[0]?.count ?? 0);
}

export const { insert: insertRole, update: updateRole, remove: deleteRole } = rowFunctions<RoleRow>('roles');

export const {
  listIds: listPermissionIdsOfRole,
  add: addRolePermissions,
  remove: removeRolePermissions,
} = linkFunctions('role_permissions', 'role_id', 'permission_id', 'permissions');

export const {
  listIds: listRoleIdsOfUser,
  add: addUserRoles,
  remove: removeUserRoles,
} = linkFunctions('user_roles', 'user_id', 'role_id', 'roles');

/** The roles that new users get. `without`: only those that hold no permission of the API resource of this identifier. */
export async function listDefaultRoles(scope: Scope, without: string | null = null): Promise<RoleRow[]> {
  const roles = table<RoleRow>(scope, 'roles')
    .where({ is_default: true, kind: 'environment' } as never)
    .orderBy('name');
  if (without !== null) {
    void roles.whereRaw(
      `not exists (
        select from role_permissions rp
        join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id
        join api_resources r on r.environment_id = p.environment_id and r.id = p.api_resource_id
        where rp.environment_id = roles.environment_id and rp.role_id = roles.id and r.identifier = ?)`,
      [without],
    );
  }
  return roles as unknown as Promise<RoleRow[]>;
}

export async function listRoleNamesOfUser(scope: Scope, user_id: string): Promise<string[]> {
  const rows = await table<{ name: string }>(scope, 'user_roles')
    .where('user_roles.user_id', user_id)
    .join('roles as r', (on) => on.on('r.environment_id', 'user_roles.environment_id').andOn('r.id', 'user_roles.role_id'))
    .orderBy('r.name')
    .select('r.name');
  return (rows as { name: string }[]).map((row) => row.name);
}

/** Gives users roles, each its own; those that they have already stay. */
export const addRolesOfUsers = (scope: Scope, rows: readonly { readonly user_id: string; readonly role_id: string }[]): Promise<void> =>
  insertMissing(scope, 'user_roles', rows);

/** The roles of the names, as far as they are there. */
export const findRolesByNames = (scope: Scope, names: readonly string[]): Promise<RoleRow[]> =>
  table<RoleRow>(scope, 'roles').whereIn('name', [...names]) as unknown as Promise<RoleRow[]>;

/** The names of the roles of each of the users. */
export async function listRoleNamesOfUsers(scope: Scope, user_ids: readonly string[]): Promise<{ user_id: string; name: string }[]> {
  const rows: unknown = await table<{ user_id: string; name: string }>(scope, 'user_roles')
    .whereIn('user_roles.user_id' as never, [...user_ids])
    .join('roles as r', (on) => on.on('r.environment_id', 'user_roles.environment_id').andOn('r.id', 'user_roles.role_id'))
    .orderBy('r.name')
    .select('user_roles.user_id', 'r.name');
  return rows as { user_id: string; name: string }[];
}

/** Names of the roles' permissions, of all API resources or of the one given. */
export async function listPermissionNamesOfRoles(scope: Scope, role_ids: readonly string[], identifier?: string): Promise<string[]> {
  const query = table<{ name: string }>(scope, 'role_permissions')
    .whereIn('role_permissions.role_id' as never, [...role_ids])
    .join('permissions as p', (on) =>
      on.on('p.environment_id', 'role_permissions.environment_id').andOn('p.id', 'role_permissions.permission_id'),
    )
    .join('api_resources as r', (on) => on.on('r.environment_id', 'p.environment_id').andOn('r.id', 'p.api_resource_id'));
  if (identifier !== undefined) void query.where('r.identifier' as never, identifier);
  return (await query.distinct('p.name').orderBy('p.name').pluck('p.name')) as string[];
}

/** How many users of the status hold the role, without the one given. */
export async function countRoleHolders(
  scope: Scope,
  role_id: string,
  options: { status?: 'active'; except?: string } = {},
): Promise<number> {
  const query = table(scope, 'user_roles')
    .where('user_roles.role_id' as never, role_id)
    .join('users as u', (on) => on.on('u.environment_id', 'user_roles.environment_id').andOn('u.id', 'user_roles.user_id'));
  if (options.status) void query.where('u.status' as never, options.status);
  if (options.except !== undefined) void query.whereNot('u.id' as never, options.except);
  const rows = (await query.count('* as count')) as unknown as { count: string }[];
  return Number(rows[0]?.count ?? 0);
}

/** The proven addresses of active users who hold the role, with the language of each (`locale`), the oldest accounts first. */
export const listRoleHolderAddresses = async (
  scope: Scope,
  role_id: string,
  limit: number,
): Promise<{ email: string; locale: string | null }[]> =>
  (await table(scope, 'user_roles')
    .where('user_roles.role_id' as never, role_id)
    .join('users as u', (on) => on.on('u.environment_id', 'user_roles.environment_id').andOn('u.id', 'user_roles.user_id'))
    .where({ 'u.status': 'active', 'u.email_verified': true } as never)
    .orderBy('u.id')
    .limit(limit)
    .select('u.email', 'u.locale')) as unknown as { email: string; locale: string | null }[];

/** Increments the version of a role or user whose links have changed. */
export const touchRecord = async <Row extends { id: string; updated_at: Date }>(
  scope: Scope,
  name: 'roles' | 'users',
  id: string,
  at: Date,
): Promise<Row | null> => update<Row>(scope, name, { id } as Partial<Row>, { updated_at: at } as Partial<Row>);

/** How many active users of each environment hold the role of the name; environments where nobody does have 0. */
export async function countHoldersByEnvironment(
  knex: Knex,
  name: string,
): Promise<{ slug: string; kind: string; is_default: boolean; holders: number }[]> {
  const text = `select e.slug, e.kind, e.is_default, count(u.id)::integer as holders
    from environments e left join roles r on r.environment_id = e.id and r.name = $1
    left join user_roles ur on ur.environment_id = e.id and ur.role_id = r.id
    left join users u on u.environment_id = e.id and u.id = ur.user_id and u.status = 'active'
    group by e.id order by e.is_default desc, e.slug`;
  return runSystem(knex, { name: 'roles.holders_by_environment', text }, [name]);
}
