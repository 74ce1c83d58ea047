import { run, type Scope, type Statement } from '../scope.js';
import { memberColumn, type AccessTokenState, type JwtStatusKeys } from './access_tokens.js';
import { actingEndedSql } from './revocations.js';

/** A token to look up: an opaque one by its digest, a JWT by its claims. */
export type TokenToFind = { readonly digest: Buffer } | Omit<JwtStatusKeys, 'resource'>;

const statesOfSeveral: Statement = {
  name: 'access_tokens.states_of_several',
  short: 'look_up',
  text: `
    select ordinal, t.jti, t.grant_id, t.client_id, t.user_id, t.session_id, t.organization_id, t.scope, t.audience, t.claims, t.jkt, t.acr, t.amr, t.auth_time, t.exchanged,
      t.act, t.earlier_scopes, t.authorization_details, t.issued_at, t.expires_at, user_status($1::uuid, coalesce(t.user_id, asked.user_id)) as user_status,
      session_revoked_at($1::uuid, coalesce(t.session_id, asked.session_id)) as session_revoked_at,
      ${memberColumn({ user_id: 'coalesce(t.user_id, asked.user_id)', organization_id: 'coalesce(t.organization_id, asked.organization_id)', issued_at: 'coalesce(t.issued_at, asked.issued_at)' })},
      exists (select 1 from revocations r where r.environment_id = $1 and (r.id = t.grant_id or r.id = any (asked.ids))
        and (r.issued_until is null or r.issued_until >= asked.issued_at)) or ${actingEndedSql} as revoked
    from rows from (jsonb_to_recordset($2::jsonb) as (digest text, ids uuid[], user_id uuid, session_id uuid, organization_id uuid, issued_at timestamptz))
      with ordinality as asked (digest, ids, user_id, session_id, organization_id, issued_at, ordinal)
    left join access_tokens t on t.environment_id = $1 and t.digest = decode(asked.digest, 'hex')
    where asked.digest is null or t.digest is not null`,
};

/**
 * The state of several tokens by one statement, in their order; of an opaque one its row too, null when there is none.
 * A JWT whose user doesn't exist has no `user_status`.
 */
export async function findTokenStates(scope: Scope, tokens: readonly TokenToFind[]): Promise<(AccessTokenState | null)[]> {
  const values = tokens.map((one) => ('digest' in one ? { digest: one.digest.toString('hex') } : one));
  const rows = await run<AccessTokenState & { ordinal: string }>(scope, statesOfSeveral, [JSON.stringify(values)]);
  return tokens.map((_one, index) => rows.find(({ ordinal }) => Number(ordinal) === index + 1) ?? null);
}
