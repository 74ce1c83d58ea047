import { run, type Scope } from '../scope.js';

// What principals could come to hold or act with: permissions of the Management API (those whose row is `is_system`) by their names, those of any other
// API resource as `{identifier}#{name}`. Each answer is one statement, asked before and after a change by whoever does not hold every permission.

async function names(scope: Scope, sql: string, values: readonly unknown[]): Promise<string[]> {
  const { rows } = await scope.knex.raw<{ rows: { name: string }[] }>(sql, values as never);
  return rows.map((row) => row.name);
}

/** The name of permission `p` of API resource `a`. */
const named = `case when a.is_system then p.name else a.identifier || '#' || p.name end as name`;
/** Permissions and their API resources, of roles that the statement has as `rp`. */
const ofRoles = `join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id
       join api_resources a on a.environment_id = p.environment_id and a.id = p.api_resource_id`;

export async function listReachOfRoles(scope: Scope, role_ids: readonly string[]): Promise<string[]> {
  if (role_ids.length === 0) return [];
  return names(
    scope,
    `select distinct ${named} from role_permissions rp ${ofRoles} where rp.environment_id = ? and rp.role_id = any (?::uuid[])`,
    [scope.environment_id, [...role_ids]],
  );
}

/** Permissions that the default roles give every new user. */
export const listReachOfDefaultRoles = async (scope: Scope): Promise<string[]> =>
  names(
    scope,
    `select distinct ${named} from roles r
       join role_permissions rp on rp.environment_id = r.environment_id and rp.role_id = r.id ${ofRoles}
     where r.environment_id = ? and r.is_default`,
    [scope.environment_id],
  );

/**
 * Permissions that the user's roles hold, those as a member of organizations too, also of one that makes whoever has such an address a member (`auto_membership`);
 * the same for a blocked user, who may be unblocked.
 */
export async function listReachOfUser(scope: Scope, user_id: string): Promise<string[]> {
  const id = [scope.environment_id, user_id];
  return names(
    scope,
    `select distinct ${named} from (
       select environment_id, role_id from user_roles where environment_id = ? and user_id = ?
       union select m.environment_id, r.role_id from organization_memberships m, member_roles(m.environment_id, m.organization_id, m.user_id) r
         where m.environment_id = ? and m.user_id = ?
       union select r.environment_id, r.role_id from users u
         join organization_domains d on d.environment_id = u.environment_id and d.domain = split_part(u.email_key, '@', 2) and d.status = 'verified'
         join organizations o on o.environment_id = d.environment_id and o.id = d.organization_id and o.auto_membership = 'domain'
         join organization_default_roles r on r.environment_id = o.environment_id and r.organization_id = o.id
         where u.environment_id = ? and u.id = ? and u.email_verified
           and not exists (select from organization_memberships m where m.environment_id = u.environment_id and m.organization_id = o.id and m.user_id = u.id)
           and not exists (select from removed_members m where m.environment_id = u.environment_id and m.organization_id = o.id and m.user_id = u.id)
     ) held join role_permissions rp on rp.environment_id = held.environment_id and rp.role_id = held.role_id ${ofRoles}
     where rp.environment_id = ?`,
    [...id, ...id, ...id, scope.environment_id],
  );
}

/** Those that the user's roles hold in the environment alone. */
export const listReachInEnvironment = async (scope: Scope, user_id: string): Promise<string[]> =>
  names(
    scope,
    `select distinct ${named} from user_roles ur
       join role_permissions rp on rp.environment_id = ur.environment_id and rp.role_id = ur.role_id ${ofRoles}
     where ur.environment_id = ? and ur.user_id = ?`,
    [scope.environment_id, user_id],
  );

/** Permissions of all roles that count in an organization: those of new members, of members and of groups. */
export async function listReachOfOrganization(scope: Scope, organization_id: string): Promise<string[]> {
  const id = [scope.environment_id, organization_id];
  return names(
    scope,
    `select distinct ${named} from (
       select environment_id, role_id from organization_default_roles where environment_id = ? and organization_id = ?
       union select r.environment_id, r.role_id from organization_memberships m
         join organization_membership_roles r on r.environment_id = m.environment_id and r.membership_id = m.id
         where m.environment_id = ? and m.organization_id = ?
       union select r.environment_id, r.role_id from organization_groups g
         join organization_group_roles r on r.environment_id = g.environment_id and r.group_id = g.id
         where g.environment_id = ? and g.organization_id = ?
     ) given join role_permissions rp on rp.environment_id = given.environment_id and rp.role_id = given.role_id ${ofRoles}
     where rp.environment_id = ?`,
    [...id, ...id, ...id, scope.environment_id],
  );
}

/** Permissions of a member's roles in an organization, directly and by groups. */
export const listReachOfMember = async (scope: Scope, organization_id: string, user_id: string): Promise<string[]> =>
  names(
    scope,
    `select distinct ${named} from member_roles(?, ?, ?) given join role_permissions rp on rp.environment_id = ? and rp.role_id = given.role_id ${ofRoles}`,
    [scope.environment_id, organization_id, user_id, scope.environment_id],
  );

/** Scopes of the clients' grants, of either subject type, and what exchanging people's tokens, and assertions of them, reach. */
export async function listReachOfClientGrants(scope: Scope, client_ids: readonly string[]): Promise<string[]> {
  if (client_ids.length === 0) return [];
  return names(
    scope,
    `select distinct ${named} from client_grants g
       join api_resources a on a.environment_id = g.environment_id and a.id = g.api_resource_id, unnest(g.scopes) p(name)
     where g.environment_id = ? and g.client_id = any (?)
     union select 'users:write' from client_grants x where x.environment_id = ? and x.client_id = any (?) and (x.token_exchange <> 'none' or x.assertions)
     union select 'users:write' from outbound_grants o where o.environment_id = ? and o.client_id = any (?)
     union select 'users:write' from provider_grants t where t.environment_id = ? and t.client_id = any (?)`,
    [1, 2, 3, 4].flatMap(() => [scope.environment_id, [...client_ids]]),
  );
}

/** The most consents of clients that are read; a client with more counts as allowed everything that people may allow. */
const mostConsents = 1000;

/**
 * What people allowed the clients at APIs that are open to all: they aren't asked again. (Where a grant is needed, the grant tells.) From the index
 * `consents_elsewhere`, at most so many rows of it.
 */
export async function listReachOfConsents(scope: Scope, client_ids: readonly string[]): Promise<string[]> {
  if (client_ids.length === 0) return [];
  return names(
    scope,
    `with allowed as (
       select k.resource_scopes from consents k where k.environment_id = ? and k.client_id = any (?) and k.resources <> '{}' limit ${mostConsents + 1}
     )
     select distinct a.identifier || '#' || s as name from allowed, jsonb_each(allowed.resource_scopes) r, jsonb_array_elements_text(r.value) s, api_resources a
     where a.environment_id = ? and a.identifier = r.key and a.user_access = 'open' and not a.is_system
     union select 'credentials:write' from (select count(*) as seen from allowed) counted where seen > ${mostConsents}`,
    [scope.environment_id, [...client_ids], scope.environment_id],
  );
}

/** What a client may have for itself at other APIs than the Management API. */
export const listGrantedElsewhere = async (scope: Scope, client_id: string): Promise<string[]> =>
  names(
    scope,
    `select distinct ${named} from client_grants g
       join api_resources a on a.environment_id = g.environment_id and a.id = g.api_resource_id and not a.is_system, unnest(g.scopes) p(name)
     where g.environment_id = ? and g.client_id = ? and g.subject_type = 'client'`,
    [scope.environment_id, client_id],
  );

/** Permissions of an API resource; with `exchanges`, what the clients reach besides that exchange people's tokens for its own. */
export const listReachOfApiResource = async (scope: Scope, id: string, { exchanges = false } = {}): Promise<string[]> =>
  names(
    scope,
    `select ${named} from permissions p join api_resources a on a.environment_id = p.environment_id and a.id = p.api_resource_id
     where p.environment_id = ? and p.api_resource_id = ?
     union select 'users:write' from client_grants x where ? and x.environment_id = ? and x.api_resource_id = ? and (x.token_exchange <> 'none' or x.assertions)`,
    [scope.environment_id, id, exchanges, scope.environment_id, id],
  );

/** What the clients reach besides that exchange people's tokens for this permission. */
export const listReachOfExchanges = async (scope: Scope, api_resource_id: string, permission: string): Promise<string[]> =>
  names(
    scope,
    `select 'users:write' as name from client_grants x
     where x.environment_id = ? and x.api_resource_id = ? and x.token_exchange <> 'none' and ? = any (x.scopes) limit 1`,
    [scope.environment_id, api_resource_id, permission],
  );

/** Permissions of all users with a valid identity of one of the connections (of its present generation), those as members of organizations too. */
export const listReachOfLinkedUsers = async (scope: Scope, connection_ids: readonly string[]): Promise<string[]> =>
  names(
    scope,
    `with linked as (
       select i.environment_id, i.user_id from identities i
         join connections c on c.environment_id = i.environment_id and c.id = i.connection_id and c.generation = i.generation
         where i.environment_id = ? and i.connection_id = any (?)
     )
     select distinct ${named} from (
       select ur.environment_id, ur.role_id from linked l join user_roles ur on ur.environment_id = l.environment_id and ur.user_id = l.user_id
       union select r.environment_id, r.role_id from linked l
         join organization_memberships m on m.environment_id = l.environment_id and m.user_id = l.user_id
         join organization_membership_roles r on r.environment_id = m.environment_id and r.membership_id = m.id
       union select r.environment_id, r.role_id from linked l
         join directory_users d on d.environment_id = l.environment_id and d.user_id = l.user_id and d.active
         join organization_group_members g on g.environment_id = d.environment_id and g.directory_user_id = d.id
         join organization_group_roles r on r.environment_id = g.environment_id and r.group_id = g.group_id
     ) held join role_permissions rp on rp.environment_id = held.environment_id and rp.role_id = held.role_id ${ofRoles}
     where rp.environment_id = ?`,
    [scope.environment_id, [...connection_ids], scope.environment_id],
  );

/** What of an organization speaks for its people: its connections and directories, and what lets clients have assertions about them. */
export async function listSpeakersOfOrganization(
  scope: Scope,
  organization_id: string,
): Promise<{ readonly kind: 'connection' | 'directory' | 'outbound_grant'; readonly id: string }[]> {
  const of = (kind: string) =>
    `select '${kind}' as kind, id from ${kind === 'directory' ? 'directories' : `${kind}s`} where environment_id = $1 and organization_id = $2`;
  const text = ['connection', 'directory', 'outbound_grant'].map(of).join(' union all ');
  return run(scope, { name: 'reach.speakers', text }, [organization_id]);
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
