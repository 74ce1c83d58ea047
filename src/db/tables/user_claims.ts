import { profileColumns } from '../../lib/profile-columns.js';
import { run, type Scope } from '../scope.js';
import type { UserRow } from './users.js';

const claimColumns = [
  'id', 'email', 'email_verified', ...profileColumns, 'phone_number_verified', 'address', 'updated_at', 'external_id',
] as const satisfies readonly (keyof UserRow)[]; // prettier-ignore

/** A user as claims show it, with the names of the roles. */
export type UserWithRoles = Pick<UserRow, (typeof claimColumns)[number]> & {
  /** Null where no claim mapping asks for it. */
  metadata: UserRow['metadata'] | null;
  role_names: string[];
};

/** The same as JSON brings it. */
export type UserClaimsJson = Omit<UserWithRoles, 'updated_at'> & { updated_at: string };

/** SQL: the names of the roles of the user `u`; with an organization (an expression) those of the membership alone. */
const roleNames = (organization_id: string | null) =>
  organization_id === null
    ? 'role_names(u.environment_id, u.id)'
    : `case when ${organization_id} is null then role_names(u.environment_id, u.id) else member_role_names(u.environment_id, ${organization_id}, u.id) end`;

/** SQL: the user `u` as a JSON object, with metadata and roles; made, and their tables touched, only where the row needs it. */
export const userClaimsSql = (
  organization_id: string | null,
) => `jsonb_build_object(${claimColumns.map((column) => `'${column}', u.${column}`).join(', ')},
  'metadata', u.metadata, 'role_names', ${roleNames(organization_id)})`;

/**
 * SQL: the columns of the user `u`, without metadata, for a row that is about a token: see {@link userOfRow}.
 * @param roles when the names of the roles are wanted
 * @param organization_id whose roles they are; null: the environment's
 */
export const userColumnsSql = (roles: string, organization_id: string): string =>
  `${claimColumns.map((column) => `u.${column}`).join(', ')}, null::jsonb as metadata, case when ${roles} then ${roleNames(organization_id)} else '{}'::text[] end as role_names`;

/** The columns of {@link userColumnsSql}; `id` is null where there is no user. */
export type UserColumns = Omit<UserWithRoles, 'id'> & { id: string | null };

const isUser = (row: UserColumns): row is UserWithRoles => row.id !== null;

/** The user of such a row, which is the row itself, or null. */
export const userOfRow = (row: UserColumns): UserWithRoles | null => (isUser(row) ? row : null);

/** SQL: whether the API resource of an identifier maps claims; for statements whose first parameter is the environment. */
export const resourceMapsClaimsSql = (identifier: string): string =>
  `exists (select 1 from api_resources ma where ma.environment_id = $1 and ma.identifier = ${identifier} and ma.claim_mappings <> '[]')`;

export const userOfJson = (json: UserClaimsJson | null): UserWithRoles | null => json && { ...json, updated_at: new Date(json.updated_at) };

/** The user as every claim shows it, or null; with an organization by the roles that the membership has there. */
export async function findUserClaims(scope: Scope, user_id: string, organization_id: string | null): Promise<UserWithRoles | null> {
  const text = `select ${userClaimsSql('$3::uuid')} as user_claims from users u where u.environment_id = $1 and u.id = $2`;
  const rows = await run<{ user_claims: UserClaimsJson }>(scope, { name: 'user_claims.find', short: 'look_up', text }, [
    user_id,
    organization_id,
  ]);
  return userOfJson(rows[0]?.user_claims ?? null);
}
