import type { Detail } from '../../lib/authorization-details.js';
import { remove, run, type Scope, type Statement } from '../scope.js';
import { storeProofSql, type ProofBinding } from './dpop_proofs.js';
import { memberStandsSql, permissionsHeldSql } from './permissions.js';
import { isBlockedSql } from './authorizations.js';
import { isRevokedSql } from './revocations.js';
import { spendPushedRequestSql } from './pushed_requests.js';
import { resourceMapsClaimsSql, userClaimsSql, userOfJson, type UserClaimsJson, type UserWithRoles } from './user_claims.js';
import { ignoreActivity, isLiveSql, type SessionBounds } from './sessions.js';

/** What a code and the refresh tokens of its grant have in common. */
export type GrantedRow = {
  environment_id: string;
  /** Of a code, or of the newest token. */
  digest: Buffer;
  grant_id: string;
  client_id: string;
  user_id: string;
  session_id: string;
  /** The organization that the tokens are for; null: for none. */
  organization_id: string | null;
  scope: string;
  resource: string | null;
  /** What the person allowed beyond scopes (RFC 9396); null: nothing was asked for. */
  authorization_details: readonly Detail[] | null;
  /** What the `claims` parameter asked for at userinfo, by name. */
  claims: Record<string, unknown> | null;
  /** The names that it asked for in the ID token. */
  id_token_claims: string[] | null;
  /** Null: the provider didn't say when the person signed in there. */
  auth_time: Date | null;
  acr: string | null;
  amr: string[];
  expires_at: Date;
};

/** A row of `authorization_codes`; `expires_at` is 60 s after issue, used ones stay a while so that a replay is recognised. */
export type AuthorizationCodeRow = GrantedRow & {
  redirect_uri: string;
  access_token_format: 'jwt' | 'opaque';
  access_token_lifetime: number;
  nonce: string | null;
  code_challenge: string | null;
  /** The thumbprint of the key that has to be proved to redeem it (RFC 9449 10); null for any, or none. */
  dpop_jkt: string | null;
  auth_time_requested: boolean;
  redeemed_at: Date | null;
  /** Of the request that issued it; null for codes of earlier releases. */
  request_id: string | null;
};

/** From the issue of a code to its expiry. */
export const codeLifetimeMs = 60_000;

type NewCode = Omit<AuthorizationCodeRow, 'environment_id' | 'redeemed_at'>;

const newCodeColumns = `environment_id, digest, grant_id, client_id, user_id, session_id, redirect_uri, scope, resource, access_token_format,
  access_token_lifetime, nonce, code_challenge, claims, auth_time, auth_time_requested, acr, amr, expires_at, id_token_claims, dpop_jkt,
  request_id, organization_id, authorization_details`;
/** Their types, in that order, for a statement that takes the values from elsewhere than `values`. */
const newCodeTypes = [
  'uuid', 'bytea', 'uuid', 'text', 'uuid', 'uuid', 'text', 'text', 'text', 'text', 'integer', 'text', 'text', 'jsonb', 'timestamptz', 'boolean', 'text',
  'text[]', 'timestamptz', 'text[]', 'text', 'text', 'uuid', 'jsonb',
]; // prettier-ignore
const newCodeValues = newCodeTypes.map((_type, index) => `$${index + 1}`).join(', ');

const valuesOf = (row: NewCode): unknown[] => [
  row.digest, row.grant_id, row.client_id, row.user_id, row.session_id, row.redirect_uri, row.scope, row.resource, row.access_token_format,
  row.access_token_lifetime, row.nonce, row.code_challenge, row.claims === null ? null : JSON.stringify(row.claims), row.auth_time,
  row.auth_time_requested, row.acr, row.amr, row.expires_at, row.id_token_claims, row.dpop_jkt, row.request_id,
  row.organization_id, row.authorization_details && JSON.stringify(row.authorization_details),
]; // prettier-ignore

export async function insertAuthorizationCode(scope: Scope, row: NewCode): Promise<void> {
  const text = `insert into authorization_codes (${newCodeColumns}) values (${newCodeValues})`;
  await run(scope, { name: 'authorization_codes.insert', short: { kind: 'write', key: 2 }, text }, valuesOf(row));
}

/** Stores a code and spends the pushed request that it answers; false, and nothing is stored, when that was spent before. */
export async function insertCodeForPushedRequest(
  scope: Scope,
  row: NewCode,
  { reference, now }: { readonly reference: Buffer; readonly now: Date },
): Promise<boolean> {
  const text = `
    with spent as (${spendPushedRequestSql('$25', '$26')})
    insert into authorization_codes (${newCodeColumns})
    select ${newCodeTypes.map((type, index) => `$${index + 1}::${type}`).join(', ')} from spent
    returning digest`;
  const rows = await run(scope, { name: 'authorization_codes.insert_pushed', short: { kind: 'write', key: 25 }, text }, [
    ...valuesOf(row),
    reference,
    now,
  ]);
  return rows.length > 0;
}

/** Why a code that was presented for the first time yields no tokens; it is spent in any case. */
export type CodeProblem =
  | 'client'
  | 'expired'
  | 'redirect_uri'
  | 'pkce'
  | 'dpop'
  | 'resource'
  | 'details'
  | 'other_organization'
  | 'user'
  | 'session'
  | 'organization'
  | 'revoked';

/** What redeeming a code answers: the code, its user's status and permissions, and what was wrong with the request. */
// prettier-ignore
export type RedeemedCode = Pick<
  AuthorizationCodeRow,
  'grant_id' | 'client_id' | 'user_id' | 'session_id' | 'organization_id' | 'scope' | 'resource' | 'access_token_format' | 'access_token_lifetime'
  | 'authorization_details' | 'nonce' | 'auth_time' | 'auth_time_requested' | 'acr' | 'amr' | 'claims' | 'id_token_claims'
> & {
  problem: CodeProblem | null;
  /** Names of the resource's permissions that the user holds; empty without a resource. */
  permissions: string[];
  /** The user as claims show it, where the redemption, the `claims` parameter or the resource's claim mappings want it. */
  user: UserWithRoles | null;
};

/** What the redemption stores beside spending the code; digests and ids are made by the caller before. */
export type Redemption = {
  digest: Buffer;
  client_id: string;
  redirect_uri: string;
  /** The S256 challenge of the presented verifier, or null without one. */
  code_challenge: string | null;
  resource: string | null;
  /** The id of the organization that the token request names; null: it names none. */
  organization: string | null;
  /** Of the details that the access token is to have, where the request names fewer than were allowed; `beyond`: it names more. */
  details: readonly Detail[] | 'beyond' | null;
  /** Audience of a token without a resource. */
  issuer: string;
  /** `now` is the time of redemption. A session without activity counts as live: an application may take its time with a code. */
  session_bounds: SessionBounds;
  jti: string;
  access_token_digest: Buffer;
  /** Null when the client gets no refresh token. */
  refresh: { readonly id: string; readonly digest: Buffer } | null;
  ends: { readonly refresh_expires_at: Date; readonly grant_expires_at: Date };
  /** Whether the client's tokens say something about the user whatever was asked. */
  with_user: boolean;
  /** Webhooks that want `token.issued`; the event is then stored by the same statement. */
  event_id: string;
  subscribers: readonly string[];
  bound: ProofBinding;
};

/**
 * Spends the code and stores what it gives, in one statement: one conditional update decides who was first, every further
 * condition decides whether anything is issued. Null: no such code, or it was spent before (RFC 6749 4.1.2, 10.5). With a proof that was used before
 * nothing is spent.
 */
export async function redeemAuthorizationCode(scope: Scope, r: Redemption): Promise<RedeemedCode | 'used proof' | null> {
  const { jkt, refresh_jkt, proof } = r.bound;
  const rows = await run<Omit<RedeemedCode, 'user'> & RedemptionRow>(scope, proof ? redeemOnceStatement : redeemStatement, [
    r.digest, r.client_id, r.redirect_uri, r.code_challenge, r.session_bounds.now, r.access_token_digest, r.jti, r.refresh?.digest ?? null,
    r.ends.refresh_expires_at, r.ends.grant_expires_at, r.resource, r.subscribers, r.event_id, r.issuer, r.session_bounds.signed_in_after,
    r.with_user, jkt, refresh_jkt, r.organization, Array.isArray(r.details) ? JSON.stringify(r.details) : null, r.details === 'beyond', r.refresh?.id ?? null, ...(proof ? [proof.digest, proof.expires_at] : []),
  ]); // prettier-ignore
  const row = rows[0];
  if (row?.first_use === false) return 'used proof';
  return row && row.grant_id !== null ? Object.assign(row, { user: userOfJson(row.user_claims) }) : null;
}

type RedemptionRow = { grant_id: string | null; user_claims: UserClaimsJson | null; first_use?: boolean };

const ofCode = { user_id: 'c.user_id', organization_id: 'c.organization_id' } as const;
const issuedAt = `c.expires_at - interval '${codeLifetimeMs} milliseconds'`;

const redeemText = (once: boolean) => `
    with ${once ? `proof as (${storeProofSql('$24', '$25')}),` : ''} redeemed as (
      update authorization_codes set redeemed_at = $6
      where environment_id = $1 and digest = $2 and redeemed_at is null ${once ? 'and exists (select 1 from proof)' : ''}
      returning *
    ), judged as (
      select c.*,
        case
          when c.client_id <> $3 then 'client'
          when c.expires_at <= $6 then 'expired'
          when c.redirect_uri <> $4 then 'redirect_uri'
          when c.code_challenge is distinct from $5::text then 'pkce'
          when c.dpop_jkt is not null and c.dpop_jkt is distinct from $18::text then 'dpop'
          when $12::text is not null and c.resource is distinct from $12 then 'resource'
          when $22::boolean then 'details'
          when $20::text is not null and c.organization_id::text is distinct from $20 then 'other_organization'
          when u.status is distinct from 'active' then 'user'
          when ${isLiveSql('s', { now: '$6', signed_in_after: '$16', active_after: ignoreActivity })} is not true then 'session'
          when not ${memberStandsSql({ ...ofCode, issued_at: issuedAt })} then 'organization'
          when ${isRevokedSql('c.grant_id')} or ${isBlockedSql('c.user_id', 'c.client_id')} then 'revoked'
        end as problem,
        ${permissionsHeldSql({ ...ofCode, resource: 'c.resource' })} as permissions,
        case when u.id is not null and ($17::boolean or c.id_token_claims is not null or ${resourceMapsClaimsSql('c.resource')})
          then ${userClaimsSql(ofCode.organization_id)} end as user_claims
      from redeemed c
      left join users u on u.environment_id = $1 and u.id = c.user_id
      left join sessions s on s.environment_id = $1 and s.id = c.session_id
    ), access as (
      insert into access_tokens
        (environment_id, digest, jti, grant_id, client_id, user_id, session_id, scope, audience, claims, jkt, acr, amr, auth_time, issued_at, expires_at,
         organization_id, authorization_details)
      select environment_id, $7, $8::uuid, grant_id, client_id, user_id, session_id, scope, coalesce(resource, $15), claims, $18::text, acr, amr, auth_time,
        $6, $6::timestamptz + make_interval(secs => access_token_lifetime), organization_id, coalesce($21::jsonb, authorization_details)
      from judged where problem is null and access_token_format = 'opaque'
    ), refresh as (
      insert into refresh_tokens
        (environment_id, digest, grant_id, client_id, user_id, session_id, scope, resource, claims, id_token_claims, auth_time, acr, amr,
         jkt, issued_at, expires_at, grant_expires_at, organization_id, authorization_details, id, generation)
      select environment_id, $9, grant_id, client_id, user_id, session_id, scope, resource, claims, id_token_claims, auth_time, acr, amr,
        $19::text, $6, $10, $11, organization_id, authorization_details, $23::uuid, 1
      from judged where problem is null and $9::bytea is not null
    ), linked as (
      insert into session_clients (environment_id, session_id, client_id, created_at)
      select environment_id, session_id, client_id, $6 from judged where problem is null
      on conflict do nothing
    ), event as (
      select store_token_issued($1, $14::uuid, $6::timestamptz, $13::uuid[], $8::uuid, access_token_format, 'authorization_code', client_id,
        user_id, session_id, scope, coalesce(resource, $15), access_token_lifetime, $9::bytea is not null) as stored
      from judged where problem is null and cardinality($13::uuid[]) > 0
    )
    select grant_id, client_id, user_id, session_id, organization_id, scope, resource, authorization_details, access_token_format, access_token_lifetime, nonce, auth_time,
      auth_time_requested, acr, amr, claims, id_token_claims, problem, permissions, user_claims, (select count(*) from event) as events
      ${once ? ', exists (select 1 from proof) as first_use from (select 1) one left join judged on true' : 'from judged'}`;

const redeemStatement: Statement = { name: 'authorization_codes.redeem', short: { kind: 'write', key: 2 }, text: redeemText(false) };

/** It may wait for the proof's row and for the code's: not beside other writes, which are in the order of one row each. */
const redeemOnceStatement: Statement = { name: 'authorization_codes.redeem_with_proof', text: redeemText(true) };

/** The grant of a code that was spent, and whose it is; null when there never was such a code. */
export async function findGrantOfCode(scope: Scope, digest: Buffer): Promise<{ grant_id: string; user_id: string } | null> {
  const text = 'select grant_id, user_id from authorization_codes where environment_id = $1 and digest = $2';
  const rows = await run<{ grant_id: string; user_id: string }>(scope, { name: 'authorization_codes.find_grant', text }, [digest]);
  return rows[0] ?? null;
}

/** Ends codes, spent or not: those of a client, or for the API resource of an identifier. */
export async function deleteAuthorizationCodes(
  scope: Scope,
  of: { readonly client_id: string } | { readonly resource: string },
): Promise<void> {
  await remove<AuthorizationCodeRow>(scope, 'authorization_codes', of);
}

export async function removeScopeFromCodes(scope: Scope, resource: string, name: string): Promise<void> {
  const text = `update authorization_codes set scope = array_to_string(array_remove(string_to_array(scope, ' '), $3), ' ')
    where environment_id = $1 and resource = $2 and $3 = any (string_to_array(scope, ' '))`;
  await run(scope, { name: 'authorization_codes.remove_scope', text }, [resource, name]);
}
