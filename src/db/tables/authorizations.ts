import type { Knex } from 'knex';
import { run, table, update, type Scope } from '../scope.js';
import { servedSql } from '../served.js';
import { runSystem } from '../system.js';
import type { Detail } from '../../lib/authorization-details.js';
import type { ClientRow } from './clients.js';

export const authorizationOrigins = ['person', 'administrator', 'employer', 'approval'] as const;

/** Who blocked it, and who alone may let it in again: an administrator may lift either. */
export const blockers = ['person', 'administrator'] as const;

/** A row of `authorizations`: that a client acts for a person, or is blocked. What issues tokens keeps it, by triggers and within its own statements. */
export type AuthorizationRow = {
  environment_id: string;
  id: string;
  user_id: string;
  client_id: string;
  /** Who allowed it: the person by a consent, an administrator by making it first-party or by its grants, the employer by an assertion, the person elsewhere by an approval (CIBA). */
  origin: (typeof authorizationOrigins)[number];
  resource_scopes: Record<string, string[]>;
  blocked_at: Date | null;
  blocked_by: (typeof blockers)[number] | null;
  version: number;
  granted_at: Date;
  /** To the hour. */
  last_used_at: Date;
  updated_at: Date;
};

/** What a person and a client are to each other. */
export type Pair = Pick<AuthorizationRow, 'user_id' | 'client_id'>;

/** SQL: whether the person of the row or value blocked the client; for statements whose first parameter is the environment. */
export const isBlockedSql = (user_id: string, client_id: string): string =>
  `exists (select 1 from authorizations b where b.environment_id = $1 and b.user_id = ${user_id} and b.client_id = ${client_id} and b.blocked_at is not null)`;

/** SQL: the details (RFC 9396) that the client of the row `a` has of the person: those that are remembered, and those of its refresh tokens. */
const detailsSql = `(select coalesce(jsonb_agg(distinct detail), '[]') from (
    select one -> 'detail' as detail from consents k cross join jsonb_array_elements(k.authorization_details) one
    join authorization_detail_types t on t.environment_id = k.environment_id and t.id = (one ->> 'type_id')::uuid
    where k.environment_id = a.environment_id and k.user_id = a.user_id and k.client_id = a.client_id
    union all
    select one as detail from refresh_tokens r cross join jsonb_array_elements(r.authorization_details) one
    join authorization_detail_types t on t.environment_id = r.environment_id and t.name = one ->> 'type' and t.created_at <= r.issued_at
    where r.environment_id = a.environment_id and r.user_id = a.user_id and r.client_id = a.client_id and r.rotated_at is null and r.expires_at > now()
  ) held) as authorization_details`;

/** An authorization with what was allowed beyond scopes. */
export type DetailedAuthorization = AuthorizationRow & { authorization_details?: readonly Detail[] };

/** Authorizations as lists show them. */
export const visibleAuthorizations = ({ knex, environment_id }: Scope): Knex.QueryBuilder =>
  knex.from(
    knex.raw(`(select a.*, ${detailsSql} from authorizations a where a.environment_id = ?) as authorizations`, [
      environment_id,
    ]) as unknown as string,
  ) as unknown as Knex.QueryBuilder;

/** @param lock nobody else changes it until the transaction ends */
export async function findAuthorization(scope: Scope, { user_id, client_id }: Pair, lock = false): Promise<AuthorizationRow | null> {
  const query = table<AuthorizationRow>(scope, 'authorizations').where({ user_id, client_id }).first();
  return (await (lock ? query.forUpdate() : query)) ?? null;
}

export type AuthorizationWithClient = AuthorizationRow & {
  authorization_details: readonly Detail[];
  client: Pick<ClientRow, 'name' | 'verified' | 'is_agent' | 'status' | 'logo_uri' | 'initiate_login_uri' | 'first_party'>;
};

/** Those of the user, agents first, then the newest; beyond `limit` the oldest are left out. */
export async function listAuthorizationsOfUser(scope: Scope, user_id: string, limit: number): Promise<AuthorizationWithClient[]> {
  const text = `select a.*, ${detailsSql}, jsonb_build_object('name', c.name, 'verified', c.verified, 'is_agent', c.is_agent, 'status', c.status, 'logo_uri', c.logo_uri,
      'initiate_login_uri', c.initiate_login_uri, 'first_party', c.first_party) as client
    from authorizations a join clients c on c.environment_id = a.environment_id and c.id = a.client_id
    where a.environment_id = $1 and a.user_id = $2
    order by c.is_agent desc, a.granted_at desc, a.id desc limit $3`;
  return run<AuthorizationWithClient>(scope, { name: 'authorizations.list_of_user', text }, [user_id, limit]);
}

/** Blocks the client for the person, or lets it ask again; null where neither ever allowed it. */
export async function setBlocked(
  scope: Scope,
  { user_id, client_id }: Pair,
  blocked: { readonly by: (typeof blockers)[number]; readonly at: Date } | null,
  at: Date,
): Promise<AuthorizationRow | null> {
  const changes = { blocked_at: blocked?.at ?? null, blocked_by: blocked?.by ?? null, updated_at: at };
  return update<AuthorizationRow>(scope, 'authorizations', { user_id, client_id }, changes);
}

/**
 * Ends what the client holds by exchanges and assertions: opaque tokens go, and JWTs that were issued until then are worth nothing, with all that others
 * were given for them; `until` null: for as long as it is blocked. An authorization that isn't blocked goes. @returns whether there was one
 */
export async function endActing(scope: Scope, { user_id, client_id }: Pair, until: Date | null, remembered_until: Date): Promise<boolean> {
  const text = `with ended as (
      insert into revocations as r (environment_id, id, issued_until, expires_at)
      values ($1, acting_key($2::uuid, $3::text), coalesce($4::timestamptz, 'infinity'), case when $4::timestamptz is null then 'infinity' else $5::timestamptz end)
      on conflict (environment_id, id) do update set issued_until = excluded.issued_until, expires_at = excluded.expires_at
    ), fed as (
      insert into revocation_feed (environment_id, sub, client_id, act, before, until)
      select $1::uuid, ($2::uuid)::text, client_id, act, coalesce($4::timestamptz, clock_timestamp()), coalesce($4::timestamptz, now()) + interval '1 day'
      from (values ($3::text, null), (null, $3::text)) as entry (client_id, act)
    ), tokens as (
      delete from access_tokens where environment_id = $1 and user_id = $2::uuid and client_id = $3::text and (exchanged or session_id is null)
    )
    delete from authorizations where environment_id = $1 and user_id = $2::uuid and client_id = $3::text and blocked_at is null returning id`;
  scope.touched.add('authorizations');
  return (await run(scope, { name: 'authorizations.end_acting', text }, [user_id, client_id, until, remembered_until])).length > 0;
}

/** Authorizations that slept longer than their environment lets them; the oldest first. */
export async function listUnusedAuthorizations(knex: Knex, now: Date, limit: number): Promise<AuthorizationRow[]> {
  const text = `select a.* from environments e cross join lateral (
      select * from authorizations a where a.environment_id = e.id and a.blocked_at is null
        and a.last_used_at < $1::timestamptz - make_interval(secs => e.unused_authorization_lifetime)
      order by a.last_used_at limit $2) a
    where e.unused_authorization_lifetime is not null and e.held_at is null limit $2`;
  return runSystem(knex, { name: 'authorizations.list_unused', text }, [now, limit]);
}

/** Holds the authorization while it still sleeps; false when it was used meanwhile. */
export async function holdUnused(scope: Scope, { id }: AuthorizationRow, before: Date): Promise<boolean> {
  const text = `select 1 as one from authorizations where environment_id = $1 and id = $2 and blocked_at is null and last_used_at < $3 for update`;
  return (await run(scope, { name: 'authorizations.hold_unused', text }, [id, before])).length > 0;
}

/** Forgets clients that nobody was asked about and that hold nothing any more. @returns how many */
export async function forgetAuthorizations(knex: Knex, before: Date, now: Date, limit: number): Promise<number> {
  const text = `delete from authorizations where (environment_id, id) in (
      select a.environment_id, a.id from authorizations a
      where a.origin <> 'person' and ${servedSql('a.environment_id')} and a.blocked_at is null and a.last_used_at < $1 and not exists (
        select 1 from refresh_tokens r where r.environment_id = a.environment_id and r.user_id = a.user_id and r.client_id = a.client_id and r.expires_at > $2)
      order by a.last_used_at limit $3) returning 1 as one`;
  return (await runSystem(knex, { name: 'authorizations.forget', text }, [before, now, limit])).length;
}
