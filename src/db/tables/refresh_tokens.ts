import type { Detail } from '../../lib/authorization-details.js';
import { run, type Scope, type Statement } from '../scope.js';
import { storeProofSql, type ProofUse } from './dpop_proofs.js';
import { memberStandsSql, permissionsHeldSql } from './permissions.js';
import { isBlockedSql } from './authorizations.js';
import { isRevokedSql } from './revocations.js';
import { resourceMapsClaimsSql, userClaimsSql, userOfJson, type UserClaimsJson, type UserWithRoles } from './user_claims.js';
import { ignoreActivity, isLiveSql, type SessionBounds, type SessionRow } from './sessions.js';
import type { UserRow } from './users.js';

/** A row of `refresh_tokens`. A rotated one stays until it expires, so that its reuse is recognised (RFC 9700 4.14.2). */
export type RefreshTokenRow = {
  environment_id: string;
  digest: Buffer;
  grant_id: string;
  client_id: string;
  user_id: string;
  session_id: string;
  /** The organization that its tokens are for; null: for none. */
  organization_id: string | null;
  scope: string;
  resource: string | null;
  /** What the person allowed beyond scopes (RFC 9396); null: nothing was asked for. */
  authorization_details: readonly Detail[] | null;
  claims: Record<string, unknown> | null;
  id_token_claims: string[] | null;
  auth_time: Date | null;
  acr: string | null;
  amr: string[];
  /** The thumbprint of the key that it is bound to (RFC 9449 5); null for those of confidential clients. */
  jkt: string | null;
  issued_at: Date;
  expires_at: Date;
  grant_expires_at: Date;
  rotated_at: Date | null;
};

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
export type RefreshTokenState = RefreshTokenRow & {
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
  cardinality(${permissionsHeldSql({ ...ofToken, resource: '$6::text' })}) > 0 as holds_permission`;

type FactorColumns = Omit<TokenFactors, 'session'> &
  Pick<SessionRow, 'proofs' | 'authenticated_at' | 'auth_time_known'> & { has_session: boolean; session_amr: string[] };

function factorsOf(row: FactorColumns): TokenFactors {
  const { authenticator_kinds, two_step_enabled, factor_required_since, holds_permission, has_session } = row;
  const { proofs, session_amr: amr, authenticated_at, auth_time_known } = row;
  const session = has_session ? { proofs, amr, authenticated_at, auth_time_known } : null;
  return { authenticator_kinds, two_step_enabled, factor_required_since, holds_permission, session };
}

const findText = (columns: string) => `
  select t.*, ${problemSql('$3', '$4')} as problem,
    ${permissionsHeldSql({ ...ofToken, resource: 't.resource' })} as permissions,
    case when $5::boolean or ($5::boolean is not null and (t.id_token_claims is not null or ${resourceMapsClaimsSql('t.resource')}))
      then ${userClaimsSql(ofToken.organization_id)} end as user_claims${columns}
  from refresh_tokens t
  join users u on u.environment_id = $1 and u.id = t.user_id
  left join sessions s on s.environment_id = $1 and s.id = t.session_id
  where t.environment_id = $1 and t.digest = $2`;

const findStatement = { name: 'refresh_tokens.find', short: 'look_up', text: findText('') } as const;
const findWithFactors = { name: 'refresh_tokens.find_with_factors', short: 'look_up', text: findText(factorColumns) } as const;

/**
 * The refresh token of the digest, and whether it may be used at `bounds.now`; null when there is none.
 * @param claims whether tokens are to follow: with `with_user` they say something about the user whatever was asked; `factors` for a policy on
 *   second factors, with the identifier of the API resource whose permissions it goes by, null for everybody's
 */
export async function findRefreshToken(
  scope: Scope,
  digest: Buffer,
  bounds: SessionBounds,
  claims: { readonly with_user: boolean; readonly factors?: { readonly held_at: string | null } | null } | null = null,
): Promise<RefreshTokenState | null> {
  const factors = claims?.factors ?? null;
  const values = [digest, bounds.now, bounds.signed_in_after, claims?.with_user ?? null];
  const rows = await run<Omit<RefreshTokenState, 'user' | 'factors'> & { user_claims: UserClaimsJson | null } & Partial<FactorColumns>>(
    scope,
    factors === null ? findStatement : findWithFactors,
    factors === null ? values : [...values, factors.held_at],
  );
  const row = rows[0];
  // Added to the row: a copy of one takes V8 longer than making it did.
  return row ? Object.assign(row, { user: userOfJson(row.user_claims), factors: factors && factorsOf(row as FactorColumns) }) : null;
}

/** What using a refresh token stores; digests and ids are made by the caller before. */
export type Refresh = {
  digest: Buffer;
  now: Date;
  /** The successor's digest when the token is to be rotated, else null. */
  successor_digest: Buffer | null;
  /** Digests of possible successors, for a token that has been rotated already: one for each SECRET_KEY. */
  known_successors: readonly Buffer[];
  /** Until when the successor is good or, when there is none, the token itself from now on; null: as it was. */
  next_expires_at: Date | null;
  jti: string;
  access_token_format: 'jwt' | 'opaque';
  access_token_digest: Buffer;
  access_token_lifetime: number;
  scope: string;
  audience: string;
  /** Of the access token. */
  authorization_details: readonly Detail[] | null;
  event_id: string;
  subscribers: readonly string[];
  /** The key that the access token is bound to, and the one that the successor is unless the token was to one before; null: to none. */
  jkt: string | null;
  refresh_jkt: string | null;
  /** The DPoP proof of that key, if its use has to be stored: with one that was used before nothing happens. */
  proof: ProofUse | null;
};

/**
 * Rotates the token, or lets it last longer, when asked to and stores the access token, in one statement. Two uses at once rotate once: the later
 * one finds the row rotated and the successor there. Null: the token has been revoked meanwhile, nothing was stored.
 * `stored_successor`: which of `known_successors` was there before.
 */
export async function useRefreshToken(scope: Scope, r: Refresh): Promise<{ stored_successor: Buffer | null } | 'used proof' | null> {
  const rows = await run<{ found: boolean; stored_successor: Buffer | null; first_use?: boolean }>(
    scope, r.proof ? refreshOnceStatement : refreshStatement, [
    r.digest, r.now, r.successor_digest, r.next_expires_at, r.jti, r.access_token_format, r.access_token_digest, r.access_token_lifetime,
    r.scope, r.audience, r.subscribers, r.event_id, r.known_successors, r.jkt, r.refresh_jkt,
    r.authorization_details && JSON.stringify(r.authorization_details), ...(r.proof ? [r.proof.digest, r.proof.expires_at] : []),
  ]); // prettier-ignore
  if (rows[0]?.first_use === false) return 'used proof';
  return rows[0]?.found ? rows[0] : null;
}

const refreshText = (once: boolean) => `
    with ${once ? `proof as (${storeProofSql('$18', '$19')}),` : ''} source as (
      select * from refresh_tokens t where environment_id = $1 and digest = $2
        and not ${isRevokedSql('t.grant_id')} ${once ? 'and exists (select 1 from proof)' : ''}
        and not exists (select 1 from clients c where c.environment_id = $1 and c.id = t.client_id and c.tokens_not_before > t.issued_at)
    ), rotated as (
      update refresh_tokens t set rotated_at = case when $4::bytea is not null then $3::timestamptz end,
        expires_at = case when $4::bytea is null then least($5::timestamptz, t.grant_expires_at) else t.expires_at end
      from source where t.environment_id = $1 and t.digest = $2 and t.rotated_at is null and $5::timestamptz is not null
    ), used as (
      update authorizations a set last_used_at = $3 where a.environment_id = $1 and a.id = (
        select f.id from authorizations f join source s on s.user_id = f.user_id and s.client_id = f.client_id
        where f.environment_id = $1 and f.last_used_at < $3::timestamptz - interval '1 hour' for update of f skip locked)
    ), successor as (
      insert into refresh_tokens
        (environment_id, digest, grant_id, client_id, user_id, session_id, scope, resource, claims, id_token_claims, auth_time, acr, amr,
         jkt, issued_at, expires_at, grant_expires_at, organization_id, authorization_details)
      select environment_id, $4, grant_id, client_id, user_id, session_id, scope, resource, claims, id_token_claims, auth_time, acr, amr,
        coalesce(jkt, $16::text), $3, least($5::timestamptz, grant_expires_at), grant_expires_at, organization_id, authorization_details
      from source where $4::bytea is not null and rotated_at is null
      on conflict do nothing
    ), access as (
      insert into access_tokens
        (environment_id, digest, jti, grant_id, client_id, user_id, session_id, scope, audience, claims, jkt, acr, amr, auth_time, issued_at, expires_at,
         organization_id, authorization_details)
      select environment_id, $8, $6::uuid, grant_id, client_id, user_id, session_id, $10, $11, claims, $15::text, acr, amr, auth_time,
        $3, $3::timestamptz + make_interval(secs => $9::integer), organization_id, $17::jsonb
      from source where $7::text = 'opaque'
    ), event as (
      select store_token_issued($1, $13::uuid, $3::timestamptz, $12::uuid[], $6::uuid, $7, 'refresh_token', client_id,
        user_id, session_id, $10, $11, $9::integer, true) as stored
      from source where cardinality($12::uuid[]) > 0
    )
    select count(*) > 0 as found, (select count(*) from event) as events,
      (select s.digest from refresh_tokens s where s.environment_id = $1 and s.digest = any($14::bytea[]) limit 1) as stored_successor
      ${once ? ', exists (select 1 from proof) as first_use' : ''}
    from source`;

const refreshStatement: Statement = { name: 'refresh_tokens.use', short: { kind: 'write', key: 2 }, text: refreshText(false) };

/** It may wait for the proof's row and for the token's: not beside other writes, which are in the order of one row each. */
const refreshOnceStatement: Statement = { name: 'refresh_tokens.use_with_proof', text: refreshText(true) };
