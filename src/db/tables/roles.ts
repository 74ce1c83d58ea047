import { insert, table, type Scope } from '../scope.js';

/** A row of `roles`. */
export type RoleRow = {
  environment_id: string;
  id: string;
  name: string;
  description: string | null;
  is_default: boolean;
  is_system: boolean;
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** The role of the name, or null; `lock` holds its row until the end of the transaction. */
export async function findRoleByName(scope: Scope, name: string, options: { lock?: boolean } = {}): Promise<RoleRow | null> {
  const query = table<RoleRow>(scope, 'roles').where({ name }).first();
  return (await (options.lock ? query.forUpdate() : query)) ?? null;
}

/** How many users have the role. */
export async function countRoleMembers(scope: Scope, role_id: string): Promise<number> {
  const rows = await table<{ role_id: string }>(scope, 'user_roles')
    .where({ role_id } as never)
    .count('* as count');
  return Number((rows as unknown as { count: number }[])[0]?.count ?? 0);
}

/** Stores a role. */
export async function insertRole(scope: Scope, row: Partial<RoleRow>): Promise<RoleRow> {
  return insert<RoleRow>(scope, 'roles', row);
}

/** Gives the role the permissions; what it holds already stays. */
export async function addRolePermissions(scope: Scope, role_id: string, permission_ids: readonly string[]): Promise<void> {
  if (permission_ids.length === 0) return;
  await scope
    .knex('role_permissions')
    .insert(permission_ids.map((permission_id) => ({ environment_id: scope.environment_id, role_id, permission_id })))
    .onConflict()
    .ignore();
}

/** Gives the user the roles; those the user has already stay. */
export async function addUserRoles(scope: Scope, user_id: string, role_ids: readonly string[]): Promise<void> {
  if (role_ids.length === 0) return;
  await scope
    .knex('user_roles')
    .insert(role_ids.map((role_id) => ({ environment_id: scope.environment_id, user_id, role_id })))
    .onConflict()
    .ignore();
}

/** The roles that new users get. */
export async function listDefaultRoles(scope: Scope): Promise<RoleRow[]> {
  return table<RoleRow>(scope, 'roles')
    .where({ is_default: true } as never)
    .orderBy('name') as unknown as Promise<RoleRow[]>;
}

/** Names of the user's roles. */
export async function listRoleNamesOfUser(scope: Scope, user_id: string): Promise<string[]> {
  const rows = await table<{ name: string }>(scope, 'user_roles')
    .where('user_roles.user_id', user_id)
    .join('roles as r', (on) => on.on('r.environment_id', 'user_roles.environment_id').andOn('r.id', 'user_roles.role_id'))
    .orderBy('r.name')
    .select('r.name');
  return (rows as { name: string }[]).map((row) => row.name);
}
