import { run, type Scope, type Statement } from '../scope.js';
import { auditColumnsSql, type CountedAuditLogRow } from './audit_logs.js';
import { storeProofSql, type ProofUse } from './dpop_proofs.js';
import { memberStandsSql } from './permissions.js';
import { ignoreActivity, isLiveSql, type SessionBounds } from './sessions.js';
import type { UserRow } from './users.js';

/** The person of an ID token, and whether what that rests on still stands. */
export type IdTokenSubject = Pick<UserRow, 'id' | 'status' | 'email' | 'email_verified'> & {
  readonly session_lives: boolean;
  readonly member_stands: boolean;
};

const findSubject: Statement = {
  name: 'issued_assertions.find_subject',
  short: 'look_up',
  text: `
    select u.id, u.status, u.email, u.email_verified,
      ${isLiveSql('s', { now: '$6::timestamptz', signed_in_after: '$7::timestamptz', active_after: ignoreActivity })} is true
        and not acting_ended($1::uuid, u.id, $8::text, null, $5::timestamptz) as session_lives,
      ${memberStandsSql({ user_id: '$2::uuid', organization_id: '$4::uuid', issued_at: '$5::timestamptz' })} as member_stands
    from users u left join sessions s on s.environment_id = $1 and s.id = $3::uuid and s.user_id = u.id
    where u.environment_id = $1 and u.id = $2::uuid`,
};

/** The person that an ID token is of, its session and its organization as they are now; null when there is no such person. */
export async function findIdTokenSubject(
  scope: Scope,
  token: {
    readonly user_id: string;
    readonly session_id: string;
    readonly organization_id: string | null;
    readonly issued_at: Date;
    readonly client_id: string;
  },
  bounds: SessionBounds,
): Promise<IdTokenSubject | null> {
  const { user_id, session_id, organization_id, issued_at, client_id } = token;
  const values = [user_id, session_id, organization_id, issued_at, bounds.now, bounds.signed_in_after, client_id];
  return (await run<IdTokenSubject>(scope, findSubject, values))[0] ?? null;
}

const storeText = (once: boolean) => `
  with ${once ? `proof as (${storeProofSql('$8', '$9')}),` : ''} lasting as (
    update refresh_tokens set expires_at = least($4::timestamptz, grant_expires_at)
    where environment_id = $1 and digest = $3::bytea and $4::timestamptz is not null ${once ? 'and exists (select 1 from proof)' : ''}
  ), used as (
    update authorizations a set last_used_at = $7 where a.environment_id = $1 and a.id = (
      select f.id from authorizations f where f.environment_id = $1 and f.user_id = $5::uuid and f.client_id = $6::text
        and f.last_used_at < $7::timestamptz - interval '1 hour' ${once ? 'and exists (select 1 from proof)' : ''} for update of f skip locked)
  ), audit as (
    insert into audit_logs (${auditColumnsSql})
    select ${auditColumnsSql} from jsonb_populate_recordset(null::audit_logs, $2::jsonb) entry
    where entry.environment_id = $1 ${once ? 'and exists (select 1 from proof)' : ''}
    returning 1)
  select count(*) > 0 as stored from audit`;

const store: Statement = { name: 'issued_assertions.store', text: storeText(false) };
const storeOnce: Statement = { name: 'issued_assertions.store_with_proof', text: storeText(true) };

/** What an assertion leaves behind: its trace, the use of the proof, and that the authorization, and the refresh token behind it, were used. */
export type IssuedAssertion = {
  readonly audit: CountedAuditLogRow;
  readonly user_id: string;
  readonly client_id: string;
  readonly now: Date;
  /** Of the refresh token that was brought, and until when that is good from now on; null: as it was. */
  readonly refresh: { readonly digest: Buffer; readonly expires_at: Date | null } | null;
  readonly proof: ProofUse | null;
};

/** Stores that; false when the proof was used before, and nothing was. */
export async function storeIssuedAssertion(
  scope: Scope,
  { audit, user_id, client_id, now, refresh, proof }: IssuedAssertion,
): Promise<boolean> {
  const values = [JSON.stringify([audit]), refresh?.digest ?? null, refresh?.expires_at ?? null, user_id, client_id, now];
  const statement = proof ? storeOnce : store;
  const rows = await run<{ stored: boolean }>(scope, statement, proof ? [...values, proof.digest, proof.expires_at] : values);
  return rows[0]?.stored === true;
}
