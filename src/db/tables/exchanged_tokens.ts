import type { Detail } from '../../lib/authorization-details.js';
import { run, type Scope, type Statement } from '../scope.js';
import { auditColumnsSql, type CountedAuditLogRow } from './audit_logs.js';
import { permissionsHeldSql } from './permissions.js';
import { isBlockedSql } from './authorizations.js';
import { storeProofSql, type ProofUse } from './dpop_proofs.js';

/** A token that is issued for a person on the strength of another one (RFC 8693). */
export type ExchangedToken = {
  readonly jti: string;
  /** Digest of the value of an opaque token; null for a JWT, which is stored nowhere. */
  readonly digest: Buffer | null;
  readonly client_id: string;
  readonly user_id: string;
  readonly grant_id: string | null;
  readonly session_id: string | null;
  /** Of what it is exchanged for. */
  readonly organization_id: string | null;
  readonly acr: string | null;
  readonly amr: readonly string[];
  readonly auth_time: Date | null;
  readonly audience: string;
  /** The scope that it may have at most. */
  readonly scopes: readonly string[];
  /** Whether it has only what the person holds of that. */
  readonly held_only: boolean;
  readonly act: unknown;
  readonly authorization_details: readonly Detail[] | null;
  /** See `AccessTokenState`. */
  readonly earlier_scopes: Readonly<Record<string, string>>;
  readonly issued_at: Date;
  /** Seconds. */
  readonly lifetime: number;
  readonly event_id: string;
  readonly subscribers: readonly string[];
  readonly grant_type: string;
  /** The thumbprint of the key that it is bound to (RFC 9449 6); null for a bearer token. */
  readonly jkt: string | null;
  /** The DPoP proof that it was asked for with, if its use has to be stored: with one that was used before nothing is. */
  readonly proof: ProofUse | null;
  /** The trace that is left with it; null when none is. */
  readonly audit: CountedAuditLogRow | null;
};

/** The scope that an exchanged token was issued with, and the names of its API resource's permissions that the person holds. */
export type Issued = { readonly scope: string; readonly held: readonly string[] };

const issueText = (once: boolean) => `
    with ${once ? `proof as (${storeProofSql('$25', '$26')}),` : ''} held as materialized (select ${permissionsHeldSql({ user_id: '$5::uuid', resource: '$8::text', organization_id: '$23::uuid' })} as names),
    asked as (
      select names, array(
        select word from unnest($9::text[]) with ordinality as one (word, place) where not $10::boolean or word = any (names) order by place
      ) as words from held),
    blocked as (select ${isBlockedSql('$5::uuid', '$4::text')} as yes),
    given as (select names as held, array_to_string(words, ' ') as scope from asked, blocked where cardinality(words) > 0 and not yes
      ${once ? 'and exists (select 1 from proof)' : ''}),
    access as (
      insert into access_tokens (environment_id, digest, jti, grant_id, client_id, user_id, session_id, scope, audience, exchanged, act, issued_at, expires_at,
        acr, amr, auth_time, jkt, earlier_scopes, organization_id, authorization_details)
      select $1::uuid, $3::bytea, $2::uuid, $6::uuid, $4::text, $5::uuid, $7::uuid, scope, $8::text, true, $11::jsonb, $12::timestamptz,
        $12::timestamptz + make_interval(secs => $13::integer), $18::text, $19::text[], $20::timestamptz, $21::text, $22::jsonb, $23::uuid, $24::jsonb
      from given where $3::bytea is not null),
    audit as (
      insert into audit_logs (${auditColumnsSql})
      select ${auditColumnsSql} from jsonb_populate_recordset(null::audit_logs, $17::jsonb) where exists (select 1 from given))
    select yes as blocked, scope, held, case when scope is not null and cardinality($14::uuid[]) > 0 then
      store_token_issued($1::uuid, $15::uuid, $12::timestamptz, $14::uuid[], $2::uuid, case when $3::bytea is null then 'jwt' else 'opaque' end, $16::text,
        $4::text, $5::uuid, $7::uuid, scope, $8::text, $13::integer, false) end as stored
      , case when scope is not null then note_authorization($1::uuid, $5::uuid, $4::text, 'administrator', string_to_array(scope, ' '), $8::text, $12::timestamptz) end as noted
      ${once ? ', exists (select 1 from proof) as first_use' : ''} from blocked left join given on true`;

const issue: Statement = { name: 'access_tokens.issue_exchanged', text: issueText(false) };
const issueOnce: Statement = { name: 'access_tokens.issue_exchanged_with_proof', text: issueText(true) };

/**
 * Stores what an exchanged token leaves behind: its row when it is opaque, its event, its trace. One statement, which also tells what the person holds.
 * @returns null when nothing of the scope is left, and no token was stored
 */
export async function issueExchangedToken(scope: Scope, token: ExchangedToken): Promise<Issued | 'used proof' | 'blocked' | null> {
  const { proof } = token;
  const [row] = await run<{ blocked: boolean; scope: string | null; held: string[]; first_use?: boolean }>(scope, proof ? issueOnce : issue, [
    token.jti, token.digest, token.client_id, token.user_id, token.grant_id, token.session_id, token.audience, token.scopes, token.held_only,
    token.act === null ? null : JSON.stringify(token.act), token.issued_at, token.lifetime, token.subscribers, token.event_id, token.grant_type,
    JSON.stringify(token.audit === null ? [] : [token.audit]), token.acr, token.amr, token.auth_time,
    token.jkt, JSON.stringify(token.earlier_scopes), token.organization_id,
    token.authorization_details && JSON.stringify(token.authorization_details), ...(proof ? [proof.digest, proof.expires_at] : []),
  ]); // prettier-ignore
  if (row?.first_use === false) return 'used proof';
  if (row?.blocked) return 'blocked';
  return row && row.scope !== null ? { scope: row.scope, held: row.held } : null;
}
