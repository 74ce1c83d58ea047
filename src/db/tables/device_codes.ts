import { run, type Scope } from '../scope.js';
import { permissionsHeldSql } from './permissions.js';
import { isRevokedSql } from './revocations.js';
import { ignoreActivity, isLiveSql, type SessionBounds } from './sessions.js';
import { resourceMapsClaimsSql, userClaimsSql, userOfJson, type UserClaimsJson, type UserWithRoles } from './user_claims.js';

/** A row of `device_codes` (RFC 8628): a device waits until a person answers for it. */
export type DeviceCodeRow = {
  environment_id: string;
  /** Of the code that the device holds. */
  digest: Buffer;
  /** Of the code that the person types, keyed. */
  user_code_digest: Buffer;
  client_id: string;
  scope: string;
  resource: string | null;
  /** Where the device asked from. */
  ip_address: string | null;
  user_agent: string | null;
  created_at: Date;
  expires_at: Date;
  /** Seconds that the device has to wait between two questions. */
  interval_seconds: number;
  polled_at: Date | null;
  /** Whether the last question came before its time. */
  polled_too_soon: boolean;
  answered_at: Date | null;
  /** Null until there is an answer. */
  approved: boolean | null;
  grant_id: string | null;
  user_id: string | null;
  /** The device's own session. */
  session_id: string | null;
  auth_time: Date | null;
  acr: string | null;
  amr: string[] | null;
  used_at: Date | null;
};

/** What is stored of a new code. */
export type NewDeviceCode = Pick<
  DeviceCodeRow,
  'digest' | 'user_code_digest' | 'client_id' | 'scope' | 'resource' | 'ip_address' | 'user_agent' | 'created_at' | 'expires_at' | 'interval_seconds'
>; // prettier-ignore

/** Stores a code; false, and nothing is stored, when another row has its user code. */
export async function insertDeviceCode(scope: Scope, row: NewDeviceCode): Promise<boolean> {
  const text = `
    insert into device_codes
      (environment_id, digest, user_code_digest, client_id, scope, resource, ip_address, user_agent, created_at, expires_at, interval_seconds)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    on conflict do nothing returning digest`;
  const rows = await run(scope, { name: 'device_codes.insert', short: { kind: 'write', key: 2 }, text }, [
    row.digest, row.user_code_digest, row.client_id, row.scope, row.resource, row.ip_address, row.user_agent, row.created_at, row.expires_at,
    row.interval_seconds,
  ]); // prettier-ignore
  return rows.length > 0;
}

/** A code as the device that asks about it finds it. */
export type PolledDeviceCode = Pick<DeviceCodeRow, 'client_id' | 'resource' | 'answered_at' | 'approved' | 'used_at' | 'expires_at'> & {
  /** The question came before its time; from now on the device waits longer. Never so once there is an answer. */
  too_soon: boolean;
};

/** Added to the interval by every question that comes too soon (RFC 8628 3.5). */
const slowDownSeconds = 5;
/** A question may come this much before its time, in seconds: networks and timers aren't exact. */
const toleranceSeconds = 0.5;

const tooSoonSql = `(d.polled_at is not null and $3 < d.polled_at + make_interval(secs => d.interval_seconds - ${toleranceSeconds}))`;

/** The code of the digest, null when there is none. While it waits for an answer the question is noted, and one too soon lengthens the interval; only its own client's. */
export async function pollDeviceCode(
  scope: Scope,
  { digest, client_id, now }: { readonly digest: Buffer; readonly client_id: string; readonly now: Date },
): Promise<PolledDeviceCode | null> {
  const text = `
    with polled as (
      update device_codes d set polled_at = $3, polled_too_soon = ${tooSoonSql},
        interval_seconds = d.interval_seconds + case when ${tooSoonSql} then ${slowDownSeconds} else 0 end
      where d.environment_id = $1 and d.digest = $2 and d.client_id = $4 and d.answered_at is null and d.expires_at > $3
      returning d.polled_too_soon
    )
    select c.client_id, c.resource, c.answered_at, c.approved, c.used_at, c.expires_at, coalesce(p.polled_too_soon, false) as too_soon
    from device_codes c left join polled p on true
    where c.environment_id = $1 and c.digest = $2`;
  const statement = { name: 'device_codes.poll', short: { kind: 'write', key: 2 }, text } as const;
  const [row] = await run<PolledDeviceCode>(scope, statement, [digest, now, client_id]);
  return row ?? null;
}

/** A code that waits for its answer, as the person is asked about it. */
export type WaitingDeviceCode = Pick<DeviceCodeRow, 'digest' | 'client_id' | 'scope' | 'resource' | 'ip_address' | 'created_at'>;

/** The waiting code with one of these digests of its user code, one for each SECRET_KEY; null when there is none. */
export async function findWaitingDeviceCode(
  scope: Scope,
  user_code_digests: readonly Buffer[],
  now: Date,
): Promise<WaitingDeviceCode | null> {
  const text = `
    select digest, client_id, scope, resource, ip_address, created_at from device_codes
    where environment_id = $1 and user_code_digest = any ($2::bytea[]) and answered_at is null and expires_at > $3`;
  const rows = await run<WaitingDeviceCode>(scope, { name: 'device_codes.find_waiting', text }, [user_code_digests, now]);
  return rows[0] ?? null;
}

/** A person's yes: whose, what for, and the session that the device gets; null in the place of it: no. */
export type DeviceApproval = {
  readonly user_id: string;
  readonly grant_id: string;
  readonly session_id: string;
  readonly scope: string;
  readonly auth_time: Date | null;
  readonly acr: string;
  readonly amr: readonly string[];
};

/** Answers a code, once, by one update; null when it was answered before or has expired. */
export async function answerDeviceCode(
  scope: Scope,
  digest: Buffer,
  approval: DeviceApproval | null,
  now: Date,
): Promise<Pick<DeviceCodeRow, 'ip_address' | 'user_agent'> | null> {
  const text = `
    update device_codes set answered_at = $3, approved = $4, user_id = $5, grant_id = $6, session_id = $7, scope = coalesce($8, scope),
      auth_time = $9, acr = $10, amr = $11
    where environment_id = $1 and digest = $2 and answered_at is null and expires_at > $3
    returning ip_address, user_agent`;
  const { user_id, grant_id, session_id, scope: granted, auth_time, acr, amr } = approval ?? ({} as Partial<DeviceApproval>);
  const values = [user_id, grant_id, session_id, granted, auth_time, acr, amr].map((value) => value ?? null);
  const rows = await run<Pick<DeviceCodeRow, 'ip_address' | 'user_agent'>>(scope, { name: 'device_codes.answer', text }, [
    digest,
    now,
    approval !== null,
    ...values,
  ]);
  return rows[0] ?? null;
}

/** Why a code that a person said yes to yields no tokens; it is spent all the same. */
export type DeviceCodeProblem = 'user' | 'session' | 'revoked';

/** What redeeming answers: the code, and what the person holds. */
export type RedeemedDeviceCode = Pick<DeviceCodeRow, 'scope' | 'auth_time' | 'acr'> & {
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
  /** Null when the client gets no refresh token. */
  refresh_token_digest: Buffer | null;
  refresh_expires_at: Date;
  grant_expires_at: Date;
  /** Whether the client's tokens say something about the user whatever was asked. */
  with_user: boolean;
  event_id: string;
  /** Webhooks that want `token.issued`. */
  subscribers: readonly string[];
  grant_type: string;
  /** Thumbprint of the key that the access token is bound to (RFC 9449 6.1), and of that of the refresh token; null: to none. */
  jkt: string | null;
  refresh_jkt: string | null;
};

/** Spends a code that was said yes to and stores what it gives, in one statement. Null: another request was first, or it has expired. */
export async function redeemDeviceCode(scope: Scope, r: DeviceRedemption): Promise<RedeemedDeviceCode | null> {
  const rows = await run<Omit<RedeemedDeviceCode, 'user'> & { user_claims: UserClaimsJson | null }>(scope, redeemStatement, [
    r.digest, r.session_bounds.now, r.client_id, r.session_bounds.signed_in_after, r.jti, r.access_token_format, r.access_token_digest,
    r.access_token_lifetime, r.audience, r.refresh_token_digest, r.refresh_expires_at, r.grant_expires_at, r.with_user, r.event_id, r.subscribers,
    r.grant_type, r.jkt, r.refresh_jkt,
  ]); // prettier-ignore
  const row = rows[0];
  return row ? { ...row, user: userOfJson(row.user_claims) } : null;
}

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
          when ${isRevokedSql('c.grant_id')} then 'revoked'
        end as problem,
        ${permissionsHeldSql({ user_id: 'c.user_id', resource: 'c.resource' })} as permissions,
        case when u.id is not null and ($14::boolean or ${resourceMapsClaimsSql('c.resource')}) then ${userClaimsSql} end as user_claims
      from redeemed c
      left join users u on u.environment_id = $1 and u.id = c.user_id
      left join sessions s on s.environment_id = $1 and s.id = c.session_id
    ), access as (
      insert into access_tokens
        (environment_id, digest, jti, grant_id, client_id, user_id, session_id, scope, audience, jkt, acr, amr, auth_time, issued_at, expires_at)
      select environment_id, $8, $6::uuid, grant_id, client_id, user_id, session_id, scope, $10, $18::text, acr, amr, auth_time, $3,
        $3::timestamptz + make_interval(secs => $9::integer)
      from judged where problem is null and $7::text = 'opaque'
    ), refresh as (
      insert into refresh_tokens
        (environment_id, digest, grant_id, client_id, user_id, session_id, scope, resource, auth_time, acr, amr, jkt, issued_at,
         expires_at, grant_expires_at)
      select environment_id, $11, grant_id, client_id, user_id, session_id, scope, resource, auth_time, acr, amr, $19::text, $3, $12, $13
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
    select grant_id, user_id, session_id, scope, auth_time, acr, amr, problem, permissions, user_claims, (select count(*) from event) as events
    from judged`,
} as const;
