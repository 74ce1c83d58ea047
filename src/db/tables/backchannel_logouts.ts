import type { Knex } from 'knex';
import { oldestWaitingSeconds, queueRows, recordAttempts, type AttemptRecord, type WaitingRow } from '../queue-rows.js';
import { run, type Scope } from '../scope.js';

/** A row of `backchannel_logouts`: a logout token that one client of an ended session is to get. */
export type BackchannelLogoutRow = WaitingRow & {
  client_id: string;
  session_id: string;
  user_id: string;
  logout_uri: string;
  /** `iss` when the session ended, which is the one of the client's ID tokens. */
  issuer: string;
  status: 'pending' | 'delivered' | 'failed';
  last_response_status: number | null;
  completed_at: Date | null;
};

/**
 * Stores a logout for every client of the sessions that listens for it, due at once by the database's clock, and wakes the loop at commit. Call it in the transaction that
 * ends the sessions. @returns how many there are to send.
 */
export async function insertBackchannelLogouts(scope: Scope, session_ids: readonly string[], issuer: string, now: Date): Promise<number> {
  const text = `with due as (
        insert into backchannel_logouts
          (environment_id, id, client_id, session_id, user_id, logout_uri, issuer, next_attempt_at, created_at)
        select $1, uuid_v7($4), c.id, s.id, s.user_id, c.backchannel_logout_uri, $3, now(), $4
        from session_clients sc
        join sessions s on s.environment_id = $1 and s.id = sc.session_id
        join clients c on c.environment_id = $1 and c.id = sc.client_id
        where sc.environment_id = $1 and sc.session_id = any ($2::uuid[])
          and c.backchannel_logout_uri is not null and c.status = 'enabled'
        returning id
      ), counted as (select count(*)::integer as count from due)
      select count, case when count > 0 then notify_after_commit('outbox', 'backchannel_logout') end from counted`;
  const rows = await run<{ count: number }>(scope, { name: 'backchannel_logouts.insert', text }, [session_ids, issuer, now]);
  return rows[0]?.count ?? 0;
}

/** What waits to be sent: each client is a destination, so that a slow one doesn't hold up the others. */
export const backchannelQueueRows = queueRows<BackchannelLogoutRow>('backchannel_logouts', 'backchannel_logout', 'client_id');

export type BackchannelRecord = AttemptRecord & {
  readonly status: BackchannelLogoutRow['status'];
  readonly last_response_status: number | null;
  readonly at: Date;
};

/** Records attempts. Logouts whose lease was lost meanwhile are left alone. @returns the ids of the others */
export function recordBackchannelAttempts(knex: Knex, records: readonly BackchannelRecord[]): Promise<string[]> {
  const set = `status = g.status, last_response_status = g.last_response_status, completed_at = case when g.retry_in_ms is null then g.at end`;
  const columns = 'status text, last_response_status integer, at timestamptz';
  return recordAttempts(knex, { name: 'backchannel_logouts', set, columns }, records);
}

/** Seconds for which the oldest due logout has waited; 0 when none waits. */
export const oldestDueBackchannelSeconds = (knex: Knex): Promise<number> =>
  oldestWaitingSeconds(knex, 'backchannel_logouts', 'next_attempt_at');
