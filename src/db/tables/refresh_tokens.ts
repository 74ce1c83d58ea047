import { run, type Scope, type Statement } from '../scope.js';
import type { GrantedRow } from './authorization_codes.js';
import { memberStandsSql, permissionsHeldSql } from './permissions.js';
import { isBlockedSql } from './authorizations.js';
import { isRevokedSql } from './revocations.js';
import { resourceMapsClaimsSql, userClaimsSql, userOfJson, type UserClaimsJson, type UserWithRoles } from './user_claims.js';
import { ignoreActivity, isLiveSql, type SessionBounds, type SessionRow } from './sessions.js';
import type { UserRow } from './users.js';

/**
 * A row of `refresh_tokens`. Its tokens carry its id and generation, and a rotation changes it: an earlier generation is a reuse (RFC 9700 4.14.2). One of
 * an earlier release is of one token: rotated, it stays until that expires.
 */
export type RefreshTokenRow = GrantedRow & {
  /** Null: it is of an earlier release. */
  id: string | null;
  /** How many tokens there have been; 0 without an id. */
  generation: number;
  /** Of the token before the newest one. */
  previous_digest: Buffer | null;
  /** When the tokens before the newest were rotated, the last one first: as far as retries go back. */
  rotations: readonly Date[];
  /** The first generation that is bound to `jkt`; null: all are, if any. */
  bound_from: number | null;
  /** The thumbprint of the key that it is bound to (RFC 9449 5); null for those of confidential clients. */
  jkt: string | null;
  issued_at: Date;
  grant_expires_at: Date;
  /** When the token was rotated, into one with a row of its own; null with an id, unless a process of an earlier release did it. */
  rotated_at: Date | null;
};

/** Which row: of the id that its tokens carry, with the generation that one says or, of one of an earlier release, of its token's digest. */
export type RefreshTokenKey = { readonly id: string; readonly generation: number } | { readonly digest: Buffer };

const keyed = { id: 't.id = $2::uuid', digest: 't.digest = $2::bytea' } as const;
type KeyKind = keyof typeof keyed;

/** Why a refresh token may no longer be used. */
export type RefreshTokenProblem = 'revoked' | 'expired' | 'user' | 'session' | 'organization';

const ofToken = { user_id: 't.user_id', organization_id: 't.organization_id' } as const;

/**
 * SQL: the first reason for which the refresh token `t` of the user `u` and the session `s` may not be used, or null. With `offline_access` it
 * outlives its session (OIDC Core 11). Using it is no activity of the browser, so idleness doesn't end it.
 */
const problemSql = (now: string, signed_in_after: string): string => `case
  when ${isRevokedSql('t.grant_id')} or ${isBlockedSql('t.user_id', 't.client_id')} then 'revoked'
  when t.expires_at <= ${now} or t.grant_expires_at <= ${now} then 'expired'
  when u.status <> 'active' then 'user'
  when not ('offline_access' = any (string_to_array(t.scope, ' ')))
    and ${isLiveSql('s', { now, signed_in_after, active_after: ignoreActivity })} is not true then 'session'
  when not ${memberStandsSql({ ...ofToken, issued_at: 't.issued_at' })} then 'organization'
end`;

/** A refresh token, and whether it may be used. */
export type RefreshTokenState = Omit<RefreshTokenRow, 'rotations'> & {
  /** When that generation was rotated, if `rotations` has it. */
  replaced_at: Date | null;
  /** Null: it may, by its client, unless it was rotated too long ago. */
  problem: RefreshTokenProblem | null;
  /** Names of the resource's permissions that the user holds. */
  permissions: string[];
  /** The user as claims show it, where the caller, the `claims` parameter or the resource's claim mappings want it. */
  user: UserWithRoles | null;
  /** What a policy on second factors goes by, where the caller has one. */
  factors: TokenFactors | null;
};

/** What is known of the second factors of a token's person. */
export type TokenFactors = Pick<UserRow, 'authenticator_kinds' | 'two_step_enabled' | 'factor_required_since'> & {
  /** The session that the token comes from, also once it has ended; null when it is gone. */
  session: Pick<SessionRow, 'proofs' | 'amr' | 'authenticated_at' | 'auth_time_known'> | null;
  /** Whether the user holds a permission of the API resource that was named. */
  holds_permission: boolean;
};

const factorColumns = `, u.authenticator_kinds, u.two_step_enabled, u.factor_required_since, s.id is not null as has_session, s.proofs,
  s.amr as session_amr, s.authenticated_at, s.auth_time_known,
  cardinality(${permissionsHeldSql({ ...ofToken, resource: '$7::text' })}) > 0 as holds_permission`;

type FactorColumns = Omit<TokenFactors, 'session'> &
  Pick<SessionRow, 'proofs' | 'authenticated_at' | 'auth_time_known'> & { has_session: boolean; session_amr: string[] };

function factorsOf(row: FactorColumns): TokenFactors {
  const { authenticator_kinds, two_step_enabled, factor_required_since, holds_permission, has_session } = row;
  const { proofs, session_amr: amr, authenticated_at, auth_time_known } = row;
  const session = has_session ? { proofs, amr, authenticated_at, auth_time_known } : null;
  return { authenticator_kinds, two_step_enabled, factor_required_since, holds_permission, session };
}

const findText = (by: KeyKind, columns: string) => `
  select t.environment_id, t.digest, t.grant_id, t.client_id, t.user_id, t.session_id, t.organization_id, t.scope, t.resource, t.authorization_details, t.claims,
    t.id_token_claims, t.auth_time, t.acr, t.amr, t.jkt, t.issued_at, t.expires_at, t.grant_expires_at, t.rotated_at, t.id, t.generation, t.previous_digest,
    t.bound_from, t.rotations[greatest(t.generation - $6::bigint, 0)::integer] as replaced_at, ${problemSql('$3', '$4')} as problem,
    ${permissionsHeldSql({ ...ofToken, resource: 't.resource' })} as permissions,
    case when $5::boolean or ($5::boolean is not null and (t.id_token_claims is not null or ${resourceMapsClaimsSql('t.resource')}))
      then ${userClaimsSql(ofToken.organization_id)} end as user_claims${columns}
  from refresh_tokens t
  join users u on u.environment_id = $1 and u.id = t.user_id
  left join sessions s on s.environment_id = $1 and s.id = t.session_id
  where t.environment_id = $1 and ${keyed[by]}`;

const findStatement = (by: KeyKind): Statement => ({ name: `refresh_tokens.find_by_${by}`, short: 'look_up', text: findText(by, '') });
const findWithFactors = (by: KeyKind): Statement => ({
  name: `refresh_tokens.find_by_${by}_with_factors`,
  short: 'look_up',
  text: findText(by, factorColumns),
});
const findStatements = { id: findStatement('id'), digest: findStatement('digest') };
const findStatementsWithFactors = { id: findWithFactors('id'), digest: findWithFactors('digest') };

/**
 * The row of a refresh token, and whether it may be used at `bounds.now`; null when there is none.
 * @param claims whether tokens are to follow: with `with_user` they say something about the user whatever was asked; `factors` for a policy on
 *   second factors, with the identifier of the API resource whose permissions it goes by, null for everybody's
 */
export async function findRefreshToken(
  scope: Scope,
  key: RefreshTokenKey,
  bounds: SessionBounds,
  claims: { readonly with_user: boolean; readonly factors?: { readonly held_at: string | null } | null } | null = null,
): Promise<RefreshTokenState | null> {
  const factors = claims?.factors ?? null;
  const [by, value, generation] = 'id' in key ? (['id', key.id, key.generation] as const) : (['digest', key.digest, null] as const);
  const values = [value, bounds.now, bounds.signed_in_after, claims?.with_user ?? null, generation];
  const rows = await run<Omit<RefreshTokenState, 'user' | 'factors'> & { user_claims: UserClaimsJson | null } & Partial<FactorColumns>>(
    scope,
    (factors === null ? findStatements : findStatementsWithFactors)[by],
    factors === null ? values : [...values, factors.held_at],
  );
  const row = rows[0];
  // Added to the row: a copy of one takes V8 longer than making it did.
  return row ? Object.assign(row, { user: userOfJson(row.user_claims), factors: factors && factorsOf(row as FactorColumns) }) : null;
}
