import type { RecordRow } from '../records.js';
import type { Knex } from 'knex';
import type { Detail } from '../../lib/authorization-details.js';
import { oldestWaitingSeconds, queueRows, recordAttempts, type AttemptRecord } from '../queue-rows.js';
import { eventValues, storeEventsSql } from './events.js';
import { insertMailSql, mailValues, type NewMail } from './mails.js';
import { isBlockedSql } from './authorizations.js';
import type { ClientRow } from './clients.js';
import type { DeviceCodeRow } from './device_codes.js';
import type { UserRow } from './users.js';
import { run, type PendingEvent, type Scope } from '../scope.js';

/** A row of `approvals`: what a client asked a person elsewhere (CIBA Core 1.0); the client waits with a row of `device_codes`. */
export type ApprovalRow = RecordRow & {
  client_id: string;
  /** Null: nobody is asked. */
  user_id: string | null;
  subject_digest: Buffer;
  hint_digest: Buffer;
  scope: string;
  binding_message: string | null;
  acr_values: string[];
  /** What was asked beyond scopes (RFC 9396); null: nothing. */
  authorization_details: readonly Detail[] | null;
  ip_address: string | null;
  user_agent: string | null;
  decision: 'approved' | 'refused' | null;
  muted: boolean;
  decided_at: Date | null;
  acr: string | null;
  expires_at: Date;
  /** Of clients that are pinged. `notification_sealed` is sealed for `approvals/<id>`; null once the ping is over. */
  notification_endpoint: string | null;
  notification_sealed: Buffer | null;
  attempt_count: number;
  next_attempt_at: Date | null;
  lease_id: string | null;
  leased_until: Date | null;
  last_error: string | null;
};

/** Whom a hint names, and how the client stands to them. */
export type HintedPerson = Pick<UserRow, 'id' | 'email' | 'locale'> & {
  /** The client has an authorization of theirs. */
  readonly known: boolean;
  /** They blocked it, or its last three requests within a day were refused, or one of them muted it. */
  readonly silenced: boolean;
};

const silencedSql = `(
  exists (select 1 from approvals m where m.environment_id = $1 and m.user_id = u.id and m.client_id = $3 and m.muted and m.decided_at > $4::timestamptz - interval '1 day')
  or coalesce((select count(*) = 3 and bool_and(l.decision = 'refused') and max(l.decided_at) > $4::timestamptz - interval '1 day' from (
    select decision, decided_at from approvals l where l.environment_id = $1 and l.user_id = u.id and l.client_id = $3 and l.decision is not null
    order by l.decided_at desc limit 3) l), false))`;

/** The active person whom a hint names, null being nobody; and whether the environment has words of its own for the mail. */
export async function findHintedPerson(
  scope: Scope,
  by: { readonly email_key: string } | { readonly user_id: string },
  client_id: string,
  now: Date,
): Promise<{ readonly person: HintedPerson | null; readonly has_template: boolean }> {
  const isEmail = 'email_key' in by;
  const text = `
    select u.id, u.email, u.locale, exists (select 1 from mail_templates t where t.environment_id = $1 and t.name = 'approval_requested') as has_template,
      exists (select 1 from authorizations a where a.environment_id = $1 and a.user_id = u.id and a.client_id = $3 and a.blocked_at is null) as known,
      ${isBlockedSql('u.id', '$3')} or ${silencedSql} as silenced
    from (select 1) one left join users u on u.environment_id = $1 and ${isEmail ? 'u.email_key = $2' : 'u.id = $2'} and u.status = 'active'`;
  const name = isEmail ? 'approvals.find_person_by_email' : 'approvals.find_person';
  type Found = Omit<HintedPerson, 'id'> & { readonly id: string | null; readonly has_template: boolean };
  const [found] = await run<Found>(scope, { name, text }, [isEmail ? by.email_key : by.user_id, client_id, now]);
  const person = found && found.id !== null ? { ...found, id: found.id } : null;
  return { person, has_template: found?.has_template ?? false };
}

/** What is stored with a question: the approval, the code with which its client waits, the mail and the event by which the person hears of it. */
export type NewApproval = Pick<
  ApprovalRow,
  | 'id' | 'client_id' | 'user_id' | 'subject_digest' | 'hint_digest' | 'scope' | 'binding_message' | 'acr_values' | 'authorization_details' | 'ip_address'
  | 'user_agent' | 'expires_at' | 'notification_endpoint' | 'notification_sealed' | 'created_at'
> &
  Pick<DeviceCodeRow, 'digest' | 'resource' | 'organization' | 'interval_seconds' | 'request_id'> & {
    readonly mail: NewMail;
    /** None where nobody is asked. */
    readonly events: readonly PendingEvent[];
  }; // prettier-ignore

/** Stores a question; else, and nothing is stored, for how many seconds nobody may be asked. */
export async function insertApproval(scope: Scope, row: NewApproval): Promise<number | null> {
  const text = `
    with judged as (
      select approval_wait($1, $2, $3, $4, $5) as seconds
    ), asked as (
      insert into approvals (environment_id, id, client_id, user_id, subject_digest, hint_digest, scope, binding_message, acr_values, ip_address,
        user_agent, expires_at, notification_endpoint, notification_sealed, created_at, updated_at, authorization_details)
      select $1, $6, $4, $7, $2, $3, $8, $9, $10, $11, $12, $13, $14, $15, $5, $5, $21::jsonb from judged where seconds is null
      returning id
    ), code as (
      insert into device_codes (environment_id, digest, approval_id, client_id, scope, resource, organization, ip_address, user_agent, created_at,
        expires_at, interval_seconds, request_id, authorization_details)
      select $1, $16, id, $4, $8, $17, $18, $11, $12, $5, $13, $19, $20, $21::jsonb from asked
    ), mail as (
      ${insertMailSql(22, 'from asked')}
    ), told as (
      select notify_after_commit('outbox', 'mail') from asked
    ), event as (
      ${storeEventsSql(29)}, asked
    )
    select seconds, (select count(*) from told) as told, (select count(*) from event) as events from judged`;
  const values = [
    row.subject_digest, row.hint_digest, row.client_id, row.created_at, row.id, row.user_id, row.scope, row.binding_message, row.acr_values,
    row.ip_address, row.user_agent, row.expires_at, row.notification_endpoint, row.notification_sealed, row.digest, row.resource, row.organization,
    row.interval_seconds, row.request_id, row.authorization_details && JSON.stringify(row.authorization_details), ...mailValues(row.mail), ...eventValues(row.events),
  ]; // prettier-ignore
  const [stored] = await run<{ seconds: number | null }>(scope, { name: 'approvals.ask', text }, values);
  scope.touched.add('approvals');
  return stored?.seconds ?? null;
}

/** A question with what its client waits with, whose `scope` is without what has gone since. `approved_at`: when the person last approved anything. */
export type AskedApproval = ApprovalRow &
  Pick<DeviceCodeRow, 'digest' | 'resource' | 'organization'> & { readonly approved_at: Date | null };

/** The question that the person was asked; null: there is none, or it is somebody else's. */
export async function findApprovalOfUser(scope: Scope, id: string, user_id: string): Promise<AskedApproval | null> {
  const text = `
    select a.*, c.digest, c.scope, c.resource, c.organization,
      (select max(l.decided_at) from approvals l where l.environment_id = $1 and l.user_id = $3 and l.decision = 'approved') as approved_at
    from approvals a join device_codes c on c.environment_id = a.environment_id and c.approval_id = a.id
    where a.environment_id = $1 and a.id = $2 and a.user_id = $3`;
  const rows = await run<AskedApproval>(scope, { name: 'approvals.find_of_user', text }, [id, user_id]);
  return rows[0] ?? null;
}

const pingSql = `next_attempt_at = case when a.notification_sealed is not null then now() end`;
const wokenSql = (of: string) =>
  `(select count(notify_after_commit('outbox', 'approval_ping')) from ${of} where next_attempt_at is not null)`;

/** What the person said; the client that wants to hear of it is pinged. Call it once the code is answered. */
export async function noteDecision(
  scope: Scope,
  id: string,
  { decision, muted, acr }: Pick<ApprovalRow, 'decision' | 'muted' | 'acr'>,
  now: Date,
): Promise<void> {
  const text = `
    with decided as (
      update approvals a set decision = $3, muted = $4, acr = $5, decided_at = $6, updated_at = $6, version = a.version + 1, ${pingSql}
      where a.environment_id = $1 and a.id = $2 returning a.next_attempt_at)
    select ${wokenSql('decided')} as woken`;
  await run(scope, { name: 'approvals.decide', text }, [id, decision, muted, acr, now]);
  scope.touched.add('approvals');
}

/** Ends questions that wait, and answers that nobody has fetched: one, or those of a client to a person. @returns how many waited */
export async function endApprovals(
  scope: Scope,
  of: { readonly id: string } | { readonly user_id: string; readonly client_id: string },
  now: Date,
): Promise<number> {
  const one = 'id' in of;
  const which = one ? 'a.id = $3' : 'a.user_id = $3 and a.client_id = $4';
  const text = `
    with codes as (
      update device_codes c set expires_at = $2 from approvals a
      where c.environment_id = $1 and a.environment_id = $1 and a.id = c.approval_id and ${which} and c.used_at is null and c.expires_at > $2
    ), ended as (
      update approvals a set expires_at = $2, updated_at = $2, version = a.version + 1, ${pingSql}
      where a.environment_id = $1 and ${which} and a.decision is null and a.expires_at > $2 returning a.next_attempt_at)
    select (select count(*) from ended)::integer as ended, ${wokenSql('ended')} as woken`;
  const name = one ? 'approvals.end_one' : 'approvals.end_of_client';
  const [row] = await run<{ ended: number }>(scope, { name, text }, [now, ...(one ? [of.id] : [of.user_id, of.client_id])]);
  scope.touched.add('approvals');
  return row?.ended ?? 0;
}

/** A question that waits, with what is shown of its client. */
export type OpenApproval = Pick<
  ApprovalRow,
  'id' | 'client_id' | 'binding_message' | 'authorization_details' | 'created_at' | 'expires_at'
> & { client: Pick<ClientRow, 'name' | 'verified'> };

/** What waits for the person, the newest first. */
export async function listOpenApprovals(scope: Scope, user_id: string, now: Date): Promise<OpenApproval[]> {
  const text = `
    select a.id, a.client_id, a.binding_message, a.authorization_details, a.created_at, a.expires_at, jsonb_build_object('name', c.name, 'verified', c.verified) as client
    from approvals a join clients c on c.environment_id = a.environment_id and c.id = a.client_id and c.status = 'enabled'
    where a.environment_id = $1 and a.user_id = $2 and a.decision is null and a.expires_at > $3 order by a.created_at desc, a.id desc limit 20`;
  return run<OpenApproval>(scope, { name: 'approvals.list_open', text }, [user_id, now]);
}

/** Clients that are to be pinged: each endpoint is a destination, so that a slow one doesn't hold up the others. */
export const approvalPingRows = queueRows<ApprovalRow>('approvals', 'approval_ping', 'notification_endpoint');

/** Records pings; of what is over nothing is kept sealed. @returns the ids of those whose lease was not lost meanwhile */
export function recordApprovalPings(knex: Knex, records: readonly AttemptRecord[]): Promise<string[]> {
  const set = 'notification_sealed = case when g.retry_in_ms is not null then q.notification_sealed end';
  return recordAttempts(knex, { name: 'approvals', set, columns: 'ended boolean' }, records);
}

/** Seconds for which the oldest due ping has waited; 0 when none waits. */
export const oldestDueApprovalPingSeconds = (knex: Knex): Promise<number> => oldestWaitingSeconds(knex, 'approvals', 'next_attempt_at');
