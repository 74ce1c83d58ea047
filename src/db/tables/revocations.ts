import { run, type Scope } from '../scope.js';
import type { ApiResourceRow } from './api_resources.js';

/** SQL: whether an id was revoked; for statements whose first parameter is the environment. */
export const isRevokedSql = (id: string): string => `exists (select 1 from revocations r where r.environment_id = $1 and r.id = ${id})`;

/**
 * SQL: whether somebody who acts by the opaque token `t` for a person no longer may. Tokens with a session, of no exchange, end with their grant, which is
 * looked for anyway.
 */
export const actingEndedSql = `case when t.user_id is not null and (t.exchanged or t.session_id is null)
        then acting_ended($1::uuid, t.user_id, t.client_id, t.act, t.issued_at) else false end`;

/**
 * Lists a JWT's jti or a grant's id as revoked until `expires_at`. Everything that the grant issued is dead from the commit on, also what
 * a request running at the same moment is about to store, because every look-up asks for the revocation; rows go when they expire.
 */
export async function revokeId(scope: Scope, id: string, expires_at: Date): Promise<void> {
  const text = `insert into revocations (environment_id, id, expires_at) values ($1, $2, $3) on conflict do nothing`;
  await run(scope, { name: 'revocations.insert', text }, [id, expires_at]);
}

/** {@link revokeId} of the grant that the client was given of the person, which its streams hear of. */
export async function revokeGrant(
  scope: Scope,
  grant: { readonly grant_id: string; readonly user_id: string; readonly client_id: string; readonly session_id: string | null },
  expires_at: Date,
): Promise<void> {
  const text = `with revoked as (
      insert into revocations (environment_id, id, expires_at) values ($1, $2, $3) on conflict do nothing returning id
    )
    select note_signal($1, 'session-revoked', $4, $5, $6, '{"reason": "grant"}') from revoked`;
  await run(scope, { name: 'revocations.revoke_grant', text }, [
    grant.grant_id,
    expires_at,
    grant.user_id,
    grant.session_id,
    grant.client_id,
  ]);
}

/** Which grants `revokeGrants` ends: a user's, a user's at one client, or those of one session. */
export type GrantSelection = {
  user_id: string;
  client_id?: string | undefined;
  session_id?: string | undefined;
  /** Leave grants alone that hold `offline_access`. */
  keep_offline?: boolean;
};

/**
 * Ends every grant of the selection, but none for the sake of an exchanged token (RFC 8693): that hangs on a grant which another client was given.
 * @returns how many there were
 */
export async function revokeGrants(scope: Scope, which: GrantSelection, expires_at: Date): Promise<number> {
  const text = `with ended as (
        select distinct on (grant_id) grant_id as id, client_id, session_id from (
          select grant_id, client_id, session_id, scope from refresh_tokens where environment_id = $1 and user_id = $2
          union all
          select grant_id, client_id, session_id, scope from access_tokens
            where environment_id = $1 and user_id = $2 and grant_id is not null and not exchanged
          union all
          select grant_id, client_id, session_id, scope from authorization_codes where environment_id = $1 and user_id = $2
          union all
          select grant_id, client_id, session_id, scope from device_codes where environment_id = $1 and user_id = $2 and approved
          union all
          select r.grant_id, r.client_id, null, '' from identities i
            join redeemed_assertions r on r.environment_id = i.environment_id and r.identity_id = i.id
            where i.environment_id = $1 and i.user_id = $2
        ) issued
        where ($4::text is null or client_id = $4) and ($5::uuid is null or session_id = $5)
          and not ($6::boolean and 'offline_access' = any (string_to_array(scope, ' ')))
      ), revoked as (
        insert into revocations (environment_id, id, expires_at) select $1, id, $3 from ended on conflict do nothing
      ), refresh as (
        delete from refresh_tokens r using ended e where r.environment_id = $1 and r.user_id = $2 and r.grant_id = e.id
      ), access as (
        delete from access_tokens a using ended e where a.environment_id = $1 and a.user_id = $2 and a.grant_id = e.id
      )
      select count(*) as count, count(note_signal($1, 'session-revoked', $2, session_id, client_id, '{"reason": "grant"}')) from ended`;
  const rows = await run<{ count: string }>(scope, { name: 'revocations.revoke_grants', text }, [
    which.user_id,
    expires_at,
    which.client_id ?? null,
    which.session_id ?? null,
    which.keep_offline ?? false,
  ]);
  return Number(rows[0]?.count ?? 0);
}

/** Ends what assertions about the account gave by then. @returns how many grants */
export async function endRedeemedOfSubject(scope: Scope, connection_id: string, subject: string, before: Date): Promise<number> {
  const text = `
    insert into revocations (environment_id, id, expires_at)
    select r.environment_id, r.grant_id, r.expires_at from identities i
    join redeemed_assertions r on r.environment_id = i.environment_id and r.identity_id = i.id
    where i.environment_id = $1 and i.connection_id = $2 and i.subject = $3 and r.grant_id < uuid_v7($4::timestamptz + interval '1 millisecond')
    on conflict do nothing returning 1 as one`;
  return (await run(scope, { name: 'revocations.end_redeemed', text }, [connection_id, subject, before])).length;
}

/** Ends what clients got for assertions at the API resource that it doesn't let in any more: all, or with `granted` those without a grant that says `assertions`. */
export async function endRedeemedAt(
  scope: Scope,
  { id, identifier, assertion_access }: Pick<ApiResourceRow, 'id' | 'identifier' | 'assertion_access'>,
): Promise<void> {
  const text = `
    insert into revocations (environment_id, id, expires_at)
    select r.environment_id, r.grant_id, r.expires_at from redeemed_assertions r
    where r.environment_id = $1 and r.audience = $2 and ($4 = 'off' or not exists (
      select 1 from client_grants g where g.environment_id = $1 and g.client_id = r.client_id and g.api_resource_id = $3::uuid and g.assertions))
    on conflict do nothing`;
  await run(scope, { name: 'revocations.end_redeemed_at', text }, [identifier, id, assertion_access]);
}
