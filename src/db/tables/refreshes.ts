import type { Detail } from '../../lib/authorization-details.js';
import { run, type Scope, type Statement } from '../scope.js';
import { storeProofSql, type ProofBinding } from './dpop_proofs.js';
import { isRevokedSql } from './revocations.js';

/** A token by the row that it is of and its digest. */
export type RefreshTokenOfRow = { readonly id: string | null; readonly digest: Buffer };

/** The row whose token is used. */
type UsedRow =
  // The generation that is presented.
  | { readonly id: string; readonly generation: number }
  // Of an earlier release. `known_successors`: all that may follow a token that has been rotated already, under each SECRET_KEY.
  | { readonly digest: Buffer; readonly known_successors: readonly RefreshTokenOfRow[] };

/** What using a refresh token stores; digests and ids are made by the caller before. */
export type Refresh = {
  use: {
    readonly row: UsedRow;
    /** The token that follows when it is to be rotated, else null. */
    readonly successor: { readonly id: string; readonly digest: Buffer } | null;
    /** Until when the successor is good or, when there is none, the token itself from now on; null: as it was. */
    readonly next_expires_at: Date | null;
  };
  now: Date;
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
  /** The successor keeps the key that the token was bound to before, if there was one. */
  bound: ProofBinding;
};

/**
 * Rotates the token, or lets it last longer, when asked to and stores the access token, in one statement. Two uses at once rotate once: the later one
 * finds the row changed, and is told what stands there. Null: the token has been revoked meanwhile, nothing was stored.
 * `stored`: the newest token of the row or, of one of an earlier release, which of `known_successors` was there before; null: none.
 */
export async function useRefreshToken(scope: Scope, r: Refresh): Promise<{ stored: RefreshTokenOfRow | null } | 'used proof' | null> {
  const { row, successor, next_expires_at } = r.use;
  const { jkt, refresh_jkt, proof } = r.bound;
  const [kind, key, ...ofRow] =
    'id' in row
      ? (['one', row.id, row.generation] as const)
      : ([
          'each', row.digest, successor && successor.id, row.known_successors.map(({ id }) => id).filter((id) => id !== null),
          row.known_successors.map(({ digest }) => digest),
        ] as const); // prettier-ignore
  const rows = await run<{ found: boolean; stored: Buffer | null; stored_id: string | null; first_use?: boolean }>(
    scope, (proof ? onceStatements : statements)[kind], [
    key, r.now, successor && successor.digest, next_expires_at, r.jti, r.access_token_format, r.access_token_digest, r.access_token_lifetime,
    r.scope, r.audience, r.subscribers, r.event_id, jkt, refresh_jkt, r.authorization_details && JSON.stringify(r.authorization_details),
    ...ofRow, ...(proof ? [proof.digest, proof.expires_at] : []),
  ]); // prettier-ignore
  const [answer] = rows;
  if (answer?.first_use === false) return 'used proof';
  if (!answer?.found) return null;
  return { stored: answer.stored && { id: answer.stored_id, digest: answer.stored } };
}

/** A rotated token still answers with its successor for this long: retries after a lost answer, and several tabs. */
export const retryMs = 30_000;
/** So many rotations are told apart while no two are further apart than that; what is older counts as rotated long ago. */
const mostRotations = 100;

const rotationsSql = `array_prepend($3::timestamptz, case
          when t.rotations[1] >= $3::timestamptz - interval '${retryMs} milliseconds' then t.rotations[1:${mostRotations - 1}] else '{}' end)`;

/** One row for all tokens of the grant. */
const oneRow = {
  key: 't.id = $2::uuid',
  proof: ['$18', '$19'],
  // The newest token, whoever made it: a use that came later waits for the row and reads it as it is then.
  stored:
    'coalesce((select digest from rotated), (select digest from latest), (select digest from source)) as stored, null::uuid as stored_id',
  rotation: `rotated as (
      update refresh_tokens t set digest = $4, previous_digest = t.digest, generation = t.generation + 1, rotations = ${rotationsSql},
        bound_from = case when t.jkt is null and $15::text is not null then t.generation + 1 else t.bound_from end,
        jkt = coalesce(t.jkt, $15::text), issued_at = $3, expires_at = least($5::timestamptz, t.grant_expires_at)
      from source where t.environment_id = $1 and t.id = $2::uuid and t.generation = $17::integer and t.rotated_at is null
        and $4::bytea is not null
      returning t.digest
    ), lasting as (
      update refresh_tokens t set expires_at = least($5::timestamptz, t.grant_expires_at)
      from source where t.environment_id = $1 and t.id = $2::uuid and t.generation = $17::integer and t.rotated_at is null
        and $4::bytea is null and $5::timestamptz is not null
    ), latest as (
      select t.digest from refresh_tokens t where t.environment_id = $1 and t.id = $2::uuid
        and $4::bytea is not null and exists (select 1 from source) and not exists (select 1 from rotated) for share
    )`,
} as const;

/** Each token its own row, as earlier releases have it: what follows gets one for all that come after it. */
const rowEach = {
  key: 't.digest = $2::bytea',
  proof: ['$20', '$21'],
  stored: '(select digest from successors) as stored, (select id from successors) as stored_id',
  rotation: `rotated as (
      update refresh_tokens t set rotated_at = case when $4::bytea is not null then $3::timestamptz end,
        expires_at = case when $4::bytea is null then least($5::timestamptz, t.grant_expires_at) else t.expires_at end
      from source where t.environment_id = $1 and t.digest = $2 and t.rotated_at is null and $5::timestamptz is not null
    ), successor as (
      insert into refresh_tokens
        (environment_id, digest, grant_id, client_id, user_id, session_id, scope, resource, claims, id_token_claims, auth_time, acr, amr,
         jkt, issued_at, expires_at, grant_expires_at, organization_id, authorization_details, id, generation)
      select environment_id, $4, grant_id, client_id, user_id, session_id, scope, resource, claims, id_token_claims, auth_time, acr, amr,
        coalesce(jkt, $15::text), $3, least($5::timestamptz, grant_expires_at), grant_expires_at, organization_id, authorization_details, $17::uuid, 1
      from source where $4::bytea is not null and rotated_at is null
      on conflict do nothing
    ), successors as (
      select s.id, s.digest from refresh_tokens s
      where s.environment_id = $1 and (s.id = any($18::uuid[]) or s.digest = any($19::bytea[])) limit 1
    )`,
} as const;

const refreshText = ({ key, proof, rotation, stored }: typeof oneRow | typeof rowEach, once: boolean) => `
    with ${once ? `proof as (${storeProofSql(proof[0], proof[1])}),` : ''} source as (
      select * from refresh_tokens t where environment_id = $1 and ${key}
        and not ${isRevokedSql('t.grant_id')} ${once ? 'and exists (select 1 from proof)' : ''}
        and not exists (select 1 from clients c where c.environment_id = $1 and c.id = t.client_id and c.tokens_not_before > t.issued_at)
    ), ${rotation}, used as (
      update authorizations a set last_used_at = $3 where a.environment_id = $1 and a.id = (
        select f.id from authorizations f join source s on s.user_id = f.user_id and s.client_id = f.client_id
        where f.environment_id = $1 and f.last_used_at < $3::timestamptz - interval '1 hour' for update of f skip locked)
    ), access as (
      insert into access_tokens
        (environment_id, digest, jti, grant_id, client_id, user_id, session_id, scope, audience, claims, jkt, acr, amr, auth_time, issued_at, expires_at,
         organization_id, authorization_details)
      select environment_id, $8, $6::uuid, grant_id, client_id, user_id, session_id, $10, $11, claims, $14::text, acr, amr, auth_time,
        $3, $3::timestamptz + make_interval(secs => $9::integer), organization_id, $16::jsonb
      from source where $7::text = 'opaque'
    ), event as (
      select store_token_issued($1, $13::uuid, $3::timestamptz, $12::uuid[], $6::uuid, $7, 'refresh_token', client_id,
        user_id, session_id, $10, $11, $9::integer, true) as stored
      from source where cardinality($12::uuid[]) > 0
    )
    select exists (select 1 from source) as found, (select count(*) from event) as events, ${stored}
      ${once ? ', exists (select 1 from proof) as first_use' : ''}`;

const short = { kind: 'write', key: 2 } as const;
const statements: Readonly<Record<'one' | 'each', Statement>> = {
  one: { name: 'refreshes.use_row', short, text: refreshText(oneRow, false) },
  each: { name: 'refreshes.use_token', short, text: refreshText(rowEach, false) },
};

/** They may wait for the proof's row and for the token's: not beside other writes, which are in the order of one row each. */
const onceStatements: typeof statements = {
  one: { name: 'refreshes.use_row_with_proof', text: refreshText(oneRow, true) },
  each: { name: 'refreshes.use_token_with_proof', text: refreshText(rowEach, true) },
};
