import type { Knex } from 'knex';
import { oldestWaitingSeconds, queueRows, recordAttempts, type AttemptRecord, type WaitingRow } from '../queue-rows.js';
import { run, table, type Scope } from '../scope.js';

/** A row of `mails`. `sealed` holds subject and bodies for `mails/<id>`; empty once an SMTP server has taken the mail. */
export type MailRow = WaitingRow & {
  recipient: string;
  sealed: Buffer;
  status: 'pending' | 'sent' | 'failed';
  /** After this time the mail is outdated and isn't sent; null: no limit. */
  send_before: Date | null;
  /** Never sent: made so that an unknown address takes the same work as a known one. */
  discarded: boolean;
  expires_at: Date | null;
  sent_at: Date | null;
};

export type NewMail = Pick<MailRow, 'id' | 'recipient' | 'sealed' | 'send_before' | 'discarded' | 'expires_at' | 'created_at'>;

/** SQL that stores a mail that is due at once, by the database's clock, for each row of `from`; `$first` and the six after it are {@link mailValues}. */
export const insertMailSql = (first: number, from = ''): string => {
  const at = (offset: number, type: string) => `$${first + offset}::${type}`;
  return `insert into mails (environment_id, id, recipient, sealed, send_before, discarded, expires_at, created_at, next_attempt_at)
    select $1::uuid, ${at(0, 'uuid')}, ${at(1, 'text')}, ${at(2, 'bytea')}, ${at(3, 'timestamptz')}, ${at(4, 'boolean')}, ${at(5, 'timestamptz')},
      ${at(6, 'timestamptz')}, now() ${from}`;
};

export const mailValues = (row: NewMail): readonly unknown[] => [
  row.id, row.recipient, row.sealed, row.send_before, row.discarded, row.expires_at, row.created_at,
]; // prettier-ignore

/** Stores a mail, and wakes the mail loops of all replicas at commit. */
export async function insertMail(scope: Scope, row: NewMail): Promise<void> {
  const text = `with stored as (${insertMailSql(2)}) select notify_after_commit('outbox', 'mail')`;
  await run(scope, { name: 'mails.insert', text }, mailValues(row));
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

/** What waits to be sent: each environment is a destination, so that a backlog of one doesn't hold up the others. */
export const mailQueueRows = queueRows<MailRow>('mails', 'mail', null);

/** The outcome of an attempt. `forget` empties `sealed`. */
export type MailRecord = AttemptRecord & { readonly status: MailRow['status']; readonly sent_at: Date | null; readonly forget: boolean };

/** Records attempts. Mails whose lease was lost meanwhile are left alone. @returns the ids of the others */
export function recordMails(knex: Knex, records: readonly MailRecord[]): Promise<string[]> {
  const set = `status = g.status, sent_at = g.sent_at, sealed = case when g.forget then ''::bytea else q.sealed end`;
  return recordAttempts(knex, { name: 'mails', set, columns: 'status text, sent_at timestamptz, forget boolean' }, records);
}

/** Age in seconds of the oldest mail that hasn't been sent, also of one that waits for its next attempt; 0 when there is none. */
export const oldestDueMailSeconds = (knex: Knex): Promise<number> => oldestWaitingSeconds(knex, 'mails', 'created_at');
