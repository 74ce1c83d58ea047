import type { Scope } from '../scope.js';

// What principals could come to hold or act with, as names of Management permissions: those whose row is `is_system`. Each answer is one statement,
// asked before and after a change by whoever does not hold every permission.

async function names(scope: Scope, sql: string, values: readonly unknown[]): Promise<string[]> {
  const { rows } = await scope.knex.raw<{ rows: { name: string }[] }>(sql, values as never);
  return rows.map((row) => row.name);
}

/** Management permissions that the roles hold. */
export async function listReachOfRoles(scope: Scope, role_ids: readonly string[]): Promise<string[]> {
  if (role_ids.length === 0) return [];
  return names(
    scope,
    `select distinct p.name from role_permissions rp
       join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id and p.is_system
     where rp.environment_id = ? and rp.role_id = any (?::uuid[])`,
    [scope.environment_id, [...role_ids]],
  );
}

/** Management permissions that the default roles give every new user. */
export async function listReachOfDefaultRoles(scope: Scope): Promise<string[]> {
  return names(
    scope,
    `select distinct p.name from roles r
       join role_permissions rp on rp.environment_id = r.environment_id and rp.role_id = r.id
       join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id and p.is_system
     where r.environment_id = ? and r.is_default`,
    [scope.environment_id],
  );
}

/** Management permissions that the user's roles hold; the same for a blocked user, who may be unblocked. */
export async function listReachOfUser(scope: Scope, user_id: string): Promise<string[]> {
  return names(
    scope,
    `select distinct p.name from user_roles ur
       join role_permissions rp on rp.environment_id = ur.environment_id and rp.role_id = ur.role_id
       join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id and p.is_system
     where ur.environment_id = ? and ur.user_id = ?`,
    [scope.environment_id, user_id],
  );
}

/** Management permissions of the client's grants, of either subject type, and what exchanging people's tokens reaches. */
export async function listReachOfClientGrants(scope: Scope, client_id: string): Promise<string[]> {
  return names(
    scope,
    `select distinct unnest(g.scopes) as name from client_grants g
       join api_resources a on a.environment_id = g.environment_id and a.id = g.api_resource_id and a.is_system
     where g.environment_id = ? and g.client_id = ?
     union select 'users:write' from client_grants x where x.environment_id = ? and x.client_id = ? and x.token_exchange <> 'none'`,
    [scope.environment_id, client_id, scope.environment_id, client_id],
  );
}

/** Management permissions of all users with a valid identity of the connection (of its present generation). */
export async function listReachOfLinkedUsers(scope: Scope, connection_id: string): Promise<string[]> {
  return names(
    scope,
    `select distinct p.name from identities i
       join user_roles ur on ur.environment_id = i.environment_id and ur.user_id = i.user_id
       join role_permissions rp on rp.environment_id = ur.environment_id and rp.role_id = ur.role_id
       join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id and p.is_system
       join connections c on c.environment_id = i.environment_id and c.id = i.connection_id and c.generation = i.generation
     where i.environment_id = ? and i.connection_id = ?`,
    [scope.environment_id, connection_id],
  );
}

/** Active users who hold all of the permissions, with the language of each (`locale`), at most `limit`; the earliest first. */
export async function listHoldersOfAll(
  scope: Scope,
  permissions: readonly string[],
  limit: number,
): Promise<{ id: string; email: string; locale: string | null }[]> {
  const { rows } = await scope.knex.raw<{ rows: { id: string; email: string; locale: string | null }[] }>(
    `select u.id, u.email, u.locale from users u
       join user_roles ur on ur.environment_id = u.environment_id and ur.user_id = u.id
       join role_permissions rp on rp.environment_id = ur.environment_id and rp.role_id = ur.role_id
       join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id and p.is_system and p.name = any (?::text[])
     where u.environment_id = ? and u.status = 'active'
     group by u.id, u.email, u.locale, u.created_at having count(distinct p.name) = ?
     order by u.created_at, u.id limit ?`,
    [[...permissions], scope.environment_id, new Set(permissions).size, limit],
  );
  return rows;
}
