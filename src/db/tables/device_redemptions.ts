import type { Detail } from '../../lib/authorization-details.js';
import { run, type Scope } from '../scope.js';
import type { DeviceCodeRow } from './device_codes.js';
import { memberStandsSql, permissionsHeldSql } from './permissions.js';
import { isBlockedSql } from './authorizations.js';
import { isRevokedSql } from './revocations.js';
import { ignoreActivity, isLiveSql, type SessionBounds } from './sessions.js';
import { resourceMapsClaimsSql, userClaimsSql, userOfJson, type UserClaimsJson, type UserWithRoles } from './user_claims.js';

/** Why a code that a person said yes to yields no tokens; it is spent all the same. */
export type DeviceCodeProblem = 'user' | 'session' | 'organization' | 'revoked';

/** What redeeming answers: the code, and what the person holds. */
export type RedeemedDeviceCode = Pick<DeviceCodeRow, 'scope' | 'organization_id' | 'auth_time' | 'acr'> & {
  amr: string[];
  grant_id: string;
  user_id: string;
  session_id: string;
  problem: DeviceCodeProblem | null;
  /** Names of the resource's permissions that the user holds; empty without a resource. */
  permissions: string[];
  /** The user as claims show it, where the redemption or the resource's claim mappings want it. */
  user: UserWithRoles | null;
};

/** What the redemption stores beside spending the code; digests and ids are made by the caller before. */
export type DeviceRedemption = {
  digest: Buffer;
  client_id: string;
  /** `now` is the time of redemption. */
  session_bounds: SessionBounds;
  jti: string;
  access_token_format: 'jwt' | 'opaque';
  access_token_digest: Buffer;
  access_token_lifetime: number;
  audience: string;
  /** Of the access token, which may have less than was allowed. */
  authorization_details: readonly Detail[] | null;
  /** Null when the client gets no refresh token. */
  refresh: { readonly id: string; readonly digest: Buffer } | null;
  refresh_expires_at: Date;
  grant_expires_at: Date;
  /** Whether the client's tokens say something about the user whatever was asked. */
  with_user: boolean;
  event_id: string;
  /** Webhooks that want `token.issued`. */
  subscribers: readonly string[];
  grant_type: string;
  /** The key that the access token is bound to, and the one that the refresh token is; null: to none. */
  jkt: string | null;
  refresh_jkt: string | null;
};

/** Spends a code that was said yes to and stores what it gives, in one statement. Null: another request was first, or it has expired. */
export async function redeemDeviceCode(scope: Scope, r: DeviceRedemption): Promise<RedeemedDeviceCode | null> {
  const rows = await run<Omit<RedeemedDeviceCode, 'user'> & { user_claims: UserClaimsJson | null }>(scope, redeemStatement, [
    r.digest, r.session_bounds.now, r.client_id, r.session_bounds.signed_in_after, r.jti, r.access_token_format, r.access_token_digest,
    r.access_token_lifetime, r.audience, r.refresh?.digest ?? null, r.refresh_expires_at, r.grant_expires_at, r.with_user, r.event_id, r.subscribers,
    r.grant_type, r.jkt, r.refresh_jkt, r.refresh?.id ?? null, r.authorization_details && JSON.stringify(r.authorization_details),
  ]); // prettier-ignore
  const row = rows[0];
  return row ? Object.assign(row, { user: userOfJson(row.user_claims) }) : null;
}

const ofCode = { user_id: 'c.user_id', organization_id: 'c.organization_id' } as const;

const redeemStatement = {
  name: 'device_codes.redeem',
  short: { kind: 'write', key: 2 },
  text: `
    with redeemed as (
      update device_codes set used_at = $3
      where environment_id = $1 and digest = $2 and client_id = $4 and approved and used_at is null and expires_at > $3
      returning *
    ), judged as (
      select c.*,
        case
          when u.status is distinct from 'active' then 'user'
          when ${isLiveSql('s', { now: '$3', signed_in_after: '$5', active_after: ignoreActivity })} is not true then 'session'
          when not ${memberStandsSql({ ...ofCode, issued_at: 'c.answered_at' })} then 'organization'
          when ${isRevokedSql('c.grant_id')} or ${isBlockedSql('c.user_id', 'c.client_id')} then 'revoked'
        end as problem,
        ${permissionsHeldSql({ ...ofCode, resource: 'c.resource' })} as permissions,
        case when u.id is not null and ($14::boolean or ${resourceMapsClaimsSql('c.resource')}) then ${userClaimsSql(ofCode.organization_id)} end as user_claims
      from redeemed c
      left join users u on u.environment_id = $1 and u.id = c.user_id
      left join sessions s on s.environment_id = $1 and s.id = c.session_id
    ), access as (
      insert into access_tokens
        (environment_id, digest, jti, grant_id, client_id, user_id, session_id, scope, audience, jkt, acr, amr, auth_time, issued_at, expires_at,
         organization_id, authorization_details)
      select environment_id, $8, $6::uuid, grant_id, client_id, user_id, session_id, scope, $10, $18::text, acr, amr, auth_time, $3,
        $3::timestamptz + make_interval(secs => $9::integer), organization_id, $21::jsonb
      from judged where problem is null and $7::text = 'opaque'
    ), refresh as (
      insert into refresh_tokens
        (environment_id, digest, grant_id, client_id, user_id, session_id, scope, resource, auth_time, acr, amr, jkt, issued_at, expires_at,
         grant_expires_at, organization_id, authorization_details, id, generation)
      select environment_id, $11, grant_id, client_id, user_id, session_id, scope, resource, auth_time, acr, amr, $19::text, $3, $12, $13,
        organization_id, authorization_details, $20::uuid, 1
      from judged where problem is null and $11::bytea is not null
    ), linked as (
      insert into session_clients (environment_id, session_id, client_id, created_at)
      select environment_id, session_id, client_id, $3 from judged where problem is null
      on conflict do nothing
    ), event as (
      select store_token_issued($1, $15::uuid, $3::timestamptz, $16::uuid[], $6::uuid, $7, $17, client_id, user_id, session_id, scope, $10,
        $9::integer, $11::bytea is not null) as stored
      from judged where problem is null and cardinality($16::uuid[]) > 0
    )
    select grant_id, user_id, session_id, organization_id, scope, auth_time, acr, amr, problem, permissions, user_claims, (select count(*) from event) as events
    from judged`,
} as const;
