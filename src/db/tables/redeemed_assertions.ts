import type { Detail } from '../../lib/authorization-details.js';
import { run, type Scope, type Statement } from '../scope.js';
import { auditColumnsSql, type CountedAuditLogRow } from './audit_logs.js';
import { isBlockedSql } from './authorizations.js';
import { storeProofSql, type ProofUse } from './dpop_proofs.js';
import { permissionsHeldSql } from './permissions.js';
import type { KnownIdentity } from './identities.js';
import type { UserRow } from './users.js';

/** The account that an assertion is of, with its person as far as redeeming asks for them. */
export type AssertedIdentity = Pick<KnownIdentity, 'id' | 'user_id' | 'generation' | 'proven'> & {
  readonly user: Pick<UserRow, 'id' | 'email' | 'status' | 'two_step_enabled'>;
  readonly is_member: boolean;
};

const find: Statement = {
  name: 'redeemed_assertions.find_identity',
  short: 'look_up',
  text: `
    select i.id, i.user_id, i.generation, is_proven(i) as proven,
      jsonb_build_object('id', u.id, 'email', u.email, 'status', u.status, 'two_step_enabled', u.two_step_enabled) as "user",
      $4::uuid is null or is_member($1::uuid, $4::uuid, u.id) as is_member
    from identities i join users u on u.environment_id = i.environment_id and u.id = i.user_id
    where i.environment_id = $1 and i.connection_id = $2::uuid and i.subject = $3`,
};

/** The account of the subject at the connection, and its person, with whether they are an active member of the organization. */
export const findAssertedIdentity = async (
  scope: Scope,
  connection_id: string,
  subject: string,
  organization_id: string | null,
): Promise<AssertedIdentity | null> => (await run<AssertedIdentity>(scope, find, [connection_id, subject, organization_id]))[0] ?? null;

/** What redeeming an assertion stores. */
export type AssertionRedemption = {
  readonly connection_id: string;
  readonly generation: number;
  readonly identity_id: string;
  /** Of the `jti`. */
  readonly digest: Buffer;
  /** When the assertion, and what it gives, are over. */
  readonly expires_at: Date;
  /** Whether the same client may bring it again for the same resource with the same key. */
  readonly again: boolean;
  readonly grant_id: string;
  readonly jti: string;
  /** Of the value of an opaque token; null for a JWT. */
  readonly token_digest: Buffer | null;
  readonly client_id: string;
  readonly user_id: string;
  readonly organization_id: string | null;
  readonly audience: string;
  /** The scope that it may have at most, and whether it has only what the person holds of that. */
  readonly scopes: readonly string[];
  readonly held_only: boolean;
  readonly acr: string;
  readonly amr: readonly string[];
  readonly auth_time: Date | null;
  readonly issued_at: Date;
  readonly lifetime: number;
  /** Who acts for the person, where the assertion says so. */
  readonly act: unknown;
  readonly authorization_details: readonly Detail[] | null;
  readonly jkt: string | null;
  readonly proof: ProofUse | null;
  readonly subscribers: readonly string[];
  readonly event_id: string;
  readonly grant_type: string;
  readonly audit: CountedAuditLogRow;
};

/** What was issued; or why nothing was: what it rests on ended meanwhile, nothing of the scope is left, the assertion is spent. */
export type RedeemedAssertion = { readonly grant_id: string; readonly scope: string; readonly held: readonly string[] };
export type RedemptionProblem = 'ended' | 'no scope' | 'replayed' | 'used proof';

const redeemText = (once: boolean) => `
  with ${once ? `proof as (${storeProofSql('$29', '$30')}),` : ''} stands as (
    select i.id from connections c
    join identities i on i.environment_id = c.environment_id and i.connection_id = c.id and i.id = $4::uuid
      and i.user_id = $13::uuid and i.generation = c.generation
    where c.environment_id = $1 and c.id = $2::uuid and c.status = 'enabled' and c.assertions = 'on' and c.generation = $3::integer
      and user_status($1::uuid, $13::uuid) = 'active'
      and not ${isBlockedSql('$13::uuid', '$11::text')}
      and ($14::uuid is null or is_member($1::uuid, $14::uuid, $13::uuid))
      ${once ? 'and exists (select 1 from proof)' : ''}
    for share of c, i
  ), held as materialized (
    select ${permissionsHeldSql({ user_id: '$13::uuid', resource: '$15::text', organization_id: '$14::uuid' })} as names from stands
  ), given as (
    select names, array(
      select word from unnest($16::text[]) with ordinality as one (word, place) where not $17::boolean or word = any (names) order by place
    ) as words from held
  ), spent as (
    insert into redeemed_assertions as known (environment_id, connection_id, digest, grant_id, identity_id, client_id, audience, jkt, expires_at)
    select $1::uuid, $2::uuid, $5::bytea, $8::uuid, $4::uuid, $11::text, $15::text, $12::text, $6::timestamptz from given where cardinality(words) > 0
    on conflict (environment_id, connection_id, digest) do update set expires_at = greatest(known.expires_at, excluded.expires_at)
      where $7::boolean and known.client_id = excluded.client_id and known.audience = excluded.audience
        and known.identity_id = excluded.identity_id and known.jkt is not distinct from excluded.jkt
    returning grant_id
  ), access as (
    insert into access_tokens (environment_id, digest, jti, grant_id, client_id, user_id, scope, audience, issued_at, expires_at, acr, amr, auth_time, jkt,
      organization_id, act, authorization_details)
    select $1::uuid, $10::bytea, $9::uuid, spent.grant_id, $11::text, $13::uuid, array_to_string(words, ' '), $15::text, $18::timestamptz,
      $18::timestamptz + make_interval(secs => $19::integer), $20::text, $21::text[], $22::timestamptz, $12::text, $14::uuid, $27::jsonb, $28::jsonb
    from spent, given where $10::bytea is not null
  ), audit as (
    insert into audit_logs (${auditColumnsSql})
    select ${auditColumnsSql} from jsonb_populate_recordset(null::audit_logs, $26::jsonb) entry
    where entry.environment_id = $1 and exists (select 1 from spent)
  )
  select exists (select 1 from stands) as stands, (select grant_id from spent) as grant_id, names as held, array_to_string(words, ' ') as scope,
    case when exists (select 1 from spent) and cardinality($23::uuid[]) > 0 then
      store_token_issued($1::uuid, $24::uuid, $18::timestamptz, $23::uuid[], $9::uuid, case when $10::bytea is null then 'jwt' else 'opaque' end,
        $25::text, $11::text, $13::uuid, null, array_to_string(words, ' '), $15::text, $19::integer, false) end as stored
    , case when exists (select 1 from spent) then note_authorization($1::uuid, $13::uuid, $11::text,
      case when $14::uuid is null then 'administrator' else 'employer' end, words, $15::text, $18::timestamptz) end as noted
    ${once ? ', exists (select 1 from proof) as first_use' : ''}
  from (select 1) as one left join given on true`;

const redeem: Statement = { name: 'redeemed_assertions.redeem', text: redeemText(false) };
const redeemOnce: Statement = { name: 'redeemed_assertions.redeem_with_proof', text: redeemText(true) };

type RedeemedRow = { stands: boolean; grant_id: string | null; held: string[] | null; scope: string | null; first_use?: boolean };

/**
 * Spends an assertion and stores the token that it gives, in one statement, while the connection and the link of the account are held as they are: of two
 * redemptions at once, at whichever process, one succeeds, and whatever ends what the token rests on comes before it or finds it.
 */
export async function redeemAssertion(scope: Scope, r: AssertionRedemption): Promise<RedeemedAssertion | RedemptionProblem> {
  const [row] = await run<RedeemedRow>(scope, r.proof ? redeemOnce : redeem, [
    r.connection_id, r.generation, r.identity_id, r.digest, r.expires_at, r.again, r.grant_id, r.jti, r.token_digest, r.client_id, r.jkt, r.user_id,
    r.organization_id, r.audience, r.scopes, r.held_only, r.issued_at, r.lifetime, r.acr, r.amr, r.auth_time, r.subscribers, r.event_id, r.grant_type,
    JSON.stringify([r.audit]), r.act && JSON.stringify(r.act), r.authorization_details && JSON.stringify(r.authorization_details), ...(r.proof ? [r.proof.digest, r.proof.expires_at] : []),
  ]); // prettier-ignore
  if (row?.first_use === false) return 'used proof';
  if (!row?.stands || row.held === null) return 'ended';
  if (row.scope === null || row.scope === '') return 'no scope';
  return row.grant_id === null ? 'replayed' : { grant_id: row.grant_id, scope: row.scope, held: row.held };
}
