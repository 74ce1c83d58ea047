import { run, type Scope } from '../scope.js';

/** Active people, and how many of them have neither a passkey nor an authenticator app. */
export type FactorCount = { readonly people: number; readonly without: number };

/** Of everybody, and of whoever holds a permission of the Management API: whom a policy that requires a factor is for. */
export async function countFactors(scope: Scope): Promise<{ readonly everybody: FactorCount; readonly management: FactorCount }> {
  const text = `with managers as materialized (
        select distinct ur.user_id from user_roles ur
        join role_permissions rp on rp.environment_id = ur.environment_id and rp.role_id = ur.role_id
        join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id and p.is_system
        where ur.environment_id = $1
      )
      select people, without, managers, managers_without
      from (select count(*)::int as people, (count(*) filter (where not authenticator_kinds && '{passkey,totp}'))::int as without
            from users where environment_id = $1 and status = 'active') everybody,
        (select count(*)::int as managers, (count(*) filter (where not u.authenticator_kinds && '{passkey,totp}'))::int as managers_without
         from managers m join users u on u.environment_id = $1 and u.id = m.user_id and u.status = 'active') management`;
  const rows = await run<{ people: number; without: number; managers: number; managers_without: number }>(
    scope,
    { name: 'factors.count', text },
    [],
  );
  // An aggregate without groups has one row.
  const row = rows[0] as (typeof rows)[number];
  return { everybody: { people: row.people, without: row.without }, management: { people: row.managers, without: row.managers_without } };
}

/** Active holders of the role that came with the service, which holds every permission; `viewer_without`: whether the given user is one without a factor. */
export async function countAdministratorFactors(
  scope: Scope,
  viewer_id: string,
): Promise<FactorCount & { readonly viewer_without: boolean }> {
  // The holders first, each looked up by id: PostgreSQL takes the role for one that everybody may have, and would read a million people.
  const text = `with holders as materialized (
        select user_id from user_roles
        where environment_id = $1 and role_id = any (array(select id from roles where environment_id = $1 and is_system))
      )
      select count(*)::int as people, (count(*) filter (where not u.authenticator_kinds && '{passkey,totp}'))::int as without,
        coalesce(bool_or(u.id = $2 and not u.authenticator_kinds && '{passkey,totp}'), false) as viewer_without
      from holders h
      cross join lateral (select id, authenticator_kinds from users where environment_id = $1 and id = h.user_id and status = 'active' offset 0) u`;
  const rows = await run<FactorCount & { viewer_without: boolean }>(scope, { name: 'factors.count_administrators', text }, [viewer_id]);
  return rows[0] as (typeof rows)[number];
}
