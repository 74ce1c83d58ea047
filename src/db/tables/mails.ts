import type { Knex } from 'knex';
import { runSystem } from '../system.js';
import { run, table, type Scope } from '../scope.js';

/** A row of `mails`. `sealed` holds subject and bodies for `mails/<id>`; empty once an SMTP server has taken the mail. */
export type MailRow = {
  environment_id: string;
  id: string;
  recipient: string;
  sealed: Buffer;
  status: 'pending' | 'sent' | 'failed';
  attempt_count: number;
  next_attempt_at: Date | null;
  lease_id: string | null;
  leased_until: Date | null;
  last_error: string | null;
  /** After this the mail makes no sense any more and is not sent. */
  send_before: Date | null;
  /** Goes to nobody. */
  discarded: boolean;
  /** When the row may be deleted. */
  expires_at: Date | null;
  sent_at: Date | null;
  created_at: Date;
};

/** Stores a mail that is due at once, by the database's clock, and wakes the mail loops of all replicas at commit. */
export async function insertMail(
  scope: Scope,
  row: Pick<MailRow, 'id' | 'recipient' | 'sealed' | 'send_before' | 'discarded' | 'expires_at' | 'created_at'>,
): Promise<void> {
  await run(
    scope,
    {
      name: 'mails.insert',
      text: `with stored as (
               insert into mails (environment_id, id, recipient, sealed, send_before, discarded, expires_at, created_at, next_attempt_at)
               values ($1, $2, $3, $4, $5, $6, $7, $8, now())
             )
             select pg_notify('outbox', 'mail')`,
    },
    [row.id, row.recipient, row.sealed, row.send_before, row.discarded, row.expires_at, row.created_at],
  );
}

/** Mails of the environment that went, or are about to go, to somebody; newest first. */
export async function listRecentMails(scope: Scope, filter: { recipient: string | null; limit: number }): Promise<MailRow[]> {
  const rows = table<MailRow>(scope, 'mails')
    .where({ discarded: false } as never)
    .whereNot({ status: 'failed' } as never);
  if (filter.recipient !== null) rows.whereRaw('lower(recipient) = lower(?)', [filter.recipient]);
  return rows
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(filter.limit) as unknown as Promise<MailRow[]>;
}

/**
 * Takes due mails of all environments, oldest first, for `lease_seconds`; rows that another process is taking are skipped. Whoever holds
 * a lease that has run out has lost the mail to the next taker.
 */
export async function claimMails(knex: Knex, claim: { lease_id: string; lease_seconds: number; limit: number }): Promise<MailRow[]> {
  return runSystem<MailRow>(
    knex,
    {
      name: 'mails.claim',
      text: `update mails m set lease_id = $1, leased_until = now() + make_interval(secs => $2), next_attempt_at = now() + make_interval(secs => $2),
               attempt_count = m.attempt_count + 1
             from (select environment_id, id from mails where next_attempt_at <= now() order by next_attempt_at, id limit $3 for update skip locked) due
             where m.environment_id = due.environment_id and m.id = due.id
             returning m.*`,
    },
    [claim.lease_id, claim.lease_seconds, claim.limit],
  );
}

/** What became of an attempt. */
export type MailOutcome =
  | { readonly status: 'sent'; readonly forget: boolean; readonly at: Date }
  | { readonly status: 'failed'; readonly last_error: string }
  | { readonly status: 'pending'; readonly last_error: string; readonly retry_seconds: number };

/** Writes the outcome down, unless the lease was lost meanwhile (then false). `forget` empties what was sent. */
export async function settleMail(
  knex: Knex,
  mail: Pick<MailRow, 'environment_id' | 'id' | 'lease_id'>,
  outcome: MailOutcome,
): Promise<boolean> {
  const rows = await runSystem<{ id: string }>(
    knex,
    {
      name: 'mails.settle',
      text: `update mails set status = $4, last_error = $5, sent_at = $6, lease_id = null, leased_until = null,
               next_attempt_at = now() + make_interval(secs => $7::double precision),
               sealed = case when $8::boolean then ''::bytea else sealed end
             where environment_id = $1 and id = $2 and lease_id = $3
             returning id`,
    },
    [
      mail.environment_id,
      mail.id,
      mail.lease_id,
      outcome.status,
      outcome.status === 'sent' ? null : outcome.last_error,
      outcome.status === 'sent' ? outcome.at : null,
      outcome.status === 'pending' ? outcome.retry_seconds : null,
      outcome.status === 'sent' && outcome.forget,
    ],
  );
  return rows.length > 0;
}

/** Age in seconds of the oldest mail that hasn't been sent, also of one that waits for its next attempt; 0 when there is none. */
export async function oldestDueMailSeconds(knex: Knex): Promise<number> {
  const rows = await runSystem<{ age: number | null }>(
    knex,
    {
      name: 'mails.oldest_due',
      text: `select extract(epoch from now() - min(created_at))::double precision as age from mails where next_attempt_at is not null`,
    },
    [],
  );
  return Math.max(0, rows[0]?.age ?? 0);
}
