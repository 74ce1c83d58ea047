import { run, type Scope } from '../scope.js';
import type { UserRow } from './users.js';

/** What claims are made of. */
const claimColumns = [
  'id', 'email', 'email_verified', 'first_name', 'last_name', 'middle_name', 'nickname', 'preferred_username', 'profile', 'picture', 'website',
  'gender', 'birthdate', 'zoneinfo', 'locale', 'phone_number', 'phone_number_verified', 'address', 'updated_at', 'external_id',
] as const satisfies readonly (keyof UserRow)[]; // prettier-ignore

/** A user as claims show it, with the names of the roles. */
export type UserWithRoles = Pick<UserRow, (typeof claimColumns)[number]> & {
  /** Null where no claim mapping asks for it. */
  metadata: UserRow['metadata'] | null;
  role_names: string[];
};

/** The same as JSON brings it. */
export type UserClaimsJson = Omit<UserWithRoles, 'updated_at'> & { updated_at: string };

const roleNames = `array(
  select ro.name from user_roles ur join roles ro on ro.environment_id = ur.environment_id and ro.id = ur.role_id
  where ur.environment_id = u.environment_id and ur.user_id = u.id order by ro.name)`;

/**
 * SQL: the user `u` as a JSON object. Roles cost two more tables and metadata may be long: both only where the conditions hold.
 */
export const userClaimsSql = (wanted: { readonly metadata: string; readonly roles: string }): string =>
  `jsonb_build_object(${claimColumns.map((column) => `'${column}', u.${column}`).join(', ')},
     'metadata', case when ${wanted.metadata} then u.metadata end,
     'role_names', case when ${wanted.roles} then ${roleNames} else '{}'::text[] end)`;

/** SQL: whether the client, or the API resource, of these columns maps claims; for statements whose first parameter is the environment. */
export const mapsClaimsSql = (client_id: string, identifier: string): string => `(
  exists (select 1 from clients mc where mc.environment_id = $1 and mc.id = ${client_id} and mc.claim_mappings <> '[]')
  or exists (select 1 from api_resources ma where ma.environment_id = $1 and ma.identifier = ${identifier} and ma.claim_mappings <> '[]'))`;

/** The user of the JSON, or null. */
export const userOfJson = (json: UserClaimsJson | null): UserWithRoles | null => json && { ...json, updated_at: new Date(json.updated_at) };

/** The user as every claim shows it, or null. */
export async function findUserClaims(scope: Scope, user_id: string): Promise<UserWithRoles | null> {
  const rows = await run<{ user_claims: UserClaimsJson }>(
    scope,
    {
      name: 'user_claims.find',
      text: `select ${userClaimsSql({ metadata: 'true', roles: 'true' })} as user_claims from users u where u.environment_id = $1 and u.id = $2`,
    },
    [user_id],
  );
  return userOfJson(rows[0]?.user_claims ?? null);
}
