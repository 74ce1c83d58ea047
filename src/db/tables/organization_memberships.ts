import { rowFunctions, type RecordRow } from '../records.js';
import { run, table, type Scope } from '../scope.js';
import type { UserRow } from './users.js';

export const membershipStatuses = ['active', 'suspended'] as const;
export const membershipSources = ['manual', 'invitation', 'domain', 'connection', 'directory'] as const;

export type MembershipRow = RecordRow & {
  organization_id: string;
  user_id: string;
  status: (typeof membershipStatuses)[number];
  /** What made the person a member. */
  source: (typeof membershipSources)[number];
  /** When they were let in again after a suspension or a removal: what was issued before is worth nothing. */
  readmitted_at: Date | null;
};

export async function findMembershipOf(scope: Scope, organization_id: string, user_id: string): Promise<MembershipRow | null> {
  const query = table<MembershipRow>(scope, 'organization_memberships').where({ organization_id, user_id } as never);
  return ((await query.first()) as MembershipRow | undefined) ?? null;
}

export const {
  lock: lockMembership,
  insert: insertMembership,
  update: updateMembership,
  remove: deleteMembership,
} = rowFunctions<MembershipRow>('organization_memberships');

/** What a person is told of a membership. */
export type OwnMembership = Pick<MembershipRow, 'organization_id' | 'status'> & { readonly created_at: string };

/** A user as the account page begins with them. `is_asked`: a client waits for their approval. */
export type UserAtHome = UserRow & { memberships: OwnMembership[]; is_asked: boolean };

/** The person with the memberships, by one statement: who has none costs none. */
export async function findUserWithMemberships(scope: Scope, id: string, now: Date): Promise<UserAtHome | null> {
  const text = `select u.*, coalesce((
      select json_agg(json_build_object('organization_id', m.organization_id, 'status', m.status, 'created_at', m.created_at) order by m.created_at, m.id)
      from organization_memberships m where m.environment_id = u.environment_id and m.user_id = u.id), '[]') as memberships,
      exists (select 1 from approvals a where a.environment_id = u.environment_id and a.user_id = u.id and a.decision is null and a.expires_at > $3) as is_asked
    from users u where u.environment_id = $1 and u.id = $2`;
  const rows = await run<UserAtHome>(scope, { name: 'organization_memberships.with_user', text }, [id, now]);
  return rows[0] ?? null;
}

export async function countActiveMembers(scope: Scope, organization_id: string): Promise<number> {
  const query = table(scope, 'organization_memberships').where({ organization_id, status: 'active' } as never);
  const rows = (await query.count('* as count')) as unknown as { count: string }[];
  return Number(rows[0]?.count ?? 0);
}

/** How many active members whose account is active too hold the role in the organization, directly or by a group, without the one given. */
export async function countActiveHolders(scope: Scope, organization_id: string, role_id: string, membership_id: string): Promise<number> {
  const { rows } = await scope.knex.raw<{ rows: { count: number }[] }>(
    `select count(*)::integer as count from organization_memberships m
     where m.environment_id = ? and m.organization_id = ? and m.status = 'active' and m.id <> ?
       and user_status(m.environment_id, m.user_id) = 'active'
       and exists (select from member_roles(m.environment_id, m.organization_id, m.user_id) r where r.role_id = ?)`,
    [scope.environment_id, organization_id, membership_id, role_id],
  );
  return rows[0]?.count ?? 0;
}

/** The ids of all roles that a person has in an organization, directly and by groups. */
export async function listMemberRoleIds(scope: Scope, organization_id: string, user_id: string): Promise<string[]> {
  const { rows } = await scope.knex.raw<{ rows: { role_id: string }[] }>('select role_id from member_roles(?, ?, ?)', [
    scope.environment_id,
    organization_id,
    user_id,
  ]);
  return rows.map(({ role_id }) => role_id);
}

/** The proven addresses of active members who have the role of the name, with the language of each, the oldest memberships first. */
export async function listMemberAddressesByRole(
  scope: Scope,
  organization_id: string,
  role: string,
  limit: number,
): Promise<{ email: string; locale: string | null }[]> {
  const { rows } = await scope.knex.raw<{ rows: { email: string; locale: string | null }[] }>(
    `select u.email, u.locale from organization_memberships m
       join users u on u.environment_id = m.environment_id and u.id = m.user_id and u.status = 'active' and u.email_verified
       join roles r on r.environment_id = m.environment_id and r.name = ?
     where m.environment_id = ? and m.organization_id = ? and m.status = 'active'
       and exists (select from member_roles(m.environment_id, m.organization_id, m.user_id) g where g.role_id = r.id)
     order by m.created_at, m.id limit ?`,
    [role, scope.environment_id, organization_id, limit],
  );
  return rows;
}
