import type { Knex } from 'knex';
import { run, type Scope } from '../scope.js';

/** A row of `backchannel_logouts`: a logout token that one client of an ended session is to get. */
export type BackchannelLogoutRow = {
  environment_id: string;
  id: string;
  client_id: string;
  session_id: string;
  user_id: string;
  logout_uri: string;
  /** `iss` when the session ended, which is the one of the client's ID tokens. */
  issuer: string;
  status: 'pending' | 'delivered' | 'failed';
  attempt_count: number;
  next_attempt_at: Date | null;
  lease_id: string | null;
  leased_until: Date | null;
  last_response_status: number | null;
  last_error: string | null;
  completed_at: Date | null;
  created_at: Date;
};

/**
 * Stores a logout for every client of the sessions that listens for it, and wakes the loop at commit. Call it in the transaction that
 * ends the sessions. @returns how many there are to send.
 */
export async function insertBackchannelLogouts(scope: Scope, session_ids: readonly string[], issuer: string, now: Date): Promise<number> {
  const rows = await run<{ count: number }>(
    scope,
    {
      name: 'backchannel_logouts.insert',
      text: `with due as (
               insert into backchannel_logouts
                 (environment_id, id, client_id, session_id, user_id, logout_uri, issuer, next_attempt_at, created_at)
               select $1, uuid_v7($4), c.id, s.id, s.user_id, c.backchannel_logout_uri, $3, $4, $4
               from session_clients sc
               join sessions s on s.environment_id = $1 and s.id = sc.session_id
               join clients c on c.environment_id = $1 and c.id = sc.client_id
               where sc.environment_id = $1 and sc.session_id = any ($2::uuid[])
                 and c.backchannel_logout_uri is not null and c.status = 'enabled'
               returning id
             ), counted as (select count(*)::integer as count from due)
             select count, case when count > 0 then pg_notify('outbox', 'backchannel_logout') end from counted`,
    },
    [session_ids, issuer, now],
  );
  return rows[0]?.count ?? 0;
}

/** Takes what is due, of all environments, under a lease: a process that dies lets it lapse, and another one sends. */
export async function claimBackchannelLogouts(
  knex: Knex,
  claim: { lease_id: string; leased_until: Date; now: Date; limit: number },
): Promise<BackchannelLogoutRow[]> {
  const result = await knex.raw<{ rows: BackchannelLogoutRow[] }>(
    `update backchannel_logouts set lease_id = :lease_id, leased_until = :leased_until
     where (environment_id, id) in (
       select environment_id, id from backchannel_logouts
       where next_attempt_at <= :now and (leased_until is null or leased_until < :now)
       order by next_attempt_at, id limit :limit for update skip locked)
     returning *`,
    claim,
  );
  return result.rows;
}

/** What came of an attempt; `next_attempt_at` null ends it. */
export type BackchannelAttempt = {
  readonly status: BackchannelLogoutRow['status'];
  readonly next_attempt_at: Date | null;
  readonly last_response_status: number | null;
  readonly last_error: string | null;
  readonly at: Date;
};

/** Records an attempt and gives the lease back; nothing happens when the lease was lost meanwhile. */
export async function recordBackchannelAttempt(scope: Scope, row: BackchannelLogoutRow, attempt: BackchannelAttempt): Promise<void> {
  await run(
    scope,
    {
      name: 'backchannel_logouts.record',
      text: `update backchannel_logouts set status = $4, next_attempt_at = $5, last_response_status = $6, last_error = $7,
               attempt_count = attempt_count + 1, completed_at = case when $5::timestamptz is null then $8::timestamptz end,
               lease_id = null, leased_until = null
             where environment_id = $1 and id = $2 and lease_id = $3`,
    },
    [row.id, row.lease_id, attempt.status, attempt.next_attempt_at, attempt.last_response_status, attempt.last_error, attempt.at],
  );
}

/** Gives a claim back unused, so that another process can take it at once. */
export async function releaseBackchannelLogout(scope: Scope, row: BackchannelLogoutRow): Promise<void> {
  await run(
    scope,
    {
      name: 'backchannel_logouts.release',
      text: 'update backchannel_logouts set lease_id = null, leased_until = null where environment_id = $1 and id = $2 and lease_id = $3',
    },
    [row.id, row.lease_id],
  );
}
