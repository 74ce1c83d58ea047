import type { Knex } from 'knex';
import type { Config } from '../../config.js';
import { servedSql } from '../served.js';

/**
 * A table whose rows expire: `column` is indexed, rows older than `keepSeconds` beyond it are deleted; of all rows, or of those whose
 * boolean column `only` is true (which the index is limited to). Where `column` isn't indexed, rows are looked for by a column that is, within each
 * environment, and that is never later: `madeBefore`.
 */
export type ExpiringTable = {
  readonly name: string;
  readonly column: string;
  readonly keepSeconds: number;
  readonly only?: string;
  readonly madeBefore?: string;
};

const day = 86_400;

/**
 * Spent codes and rotated tokens stay a while, so that a replay is recognised and not merely unknown. What a grant is found by, to be ended, stays as long as the
 * access tokens live that it gave last: a day at most.
 */
export const expiringTables = ({
  eventDays,
  securityEventDays,
}: Pick<Config, 'eventDays' | 'securityEventDays'>): readonly ExpiringTable[] => [
  { name: 'authorization_codes', column: 'expires_at', keepSeconds: day },
  { name: 'access_tokens', column: 'expires_at', keepSeconds: 0 },
  { name: 'refresh_tokens', column: 'expires_at', keepSeconds: day },
  { name: 'revocations', column: 'expires_at', keepSeconds: 0 },
  { name: 'revocation_feed', column: 'until', keepSeconds: 0 },
  { name: 'browser_lockouts', column: 'expires_at', keepSeconds: 0 },
  // Longer than a challenge lasts: a replica whose clock is behind that of the sweeping one must not take it again.
  { name: 'spent_challenges', column: 'expires_at', keepSeconds: 600 },
  { name: 'sign_ins', column: 'expires_at', keepSeconds: 0 },
  { name: 'devices', column: 'expires_at', keepSeconds: 0 },
  // Of those that wait for their first code; active ones have no expiry.
  { name: 'authenticators', column: 'expires_at', keepSeconds: 0 },
  { name: 'saml_assertions', column: 'expires_at', keepSeconds: 0 },
  { name: 'sso_flows', column: 'expires_at', keepSeconds: 0 },
  { name: 'sessions', column: 'expires_at', keepSeconds: 7 * day },
  { name: 'webhook_deliveries', column: 'completed_at', keepSeconds: 30 * day, madeBefore: 'created_at' },
  { name: 'events', column: 'occurred_at', keepSeconds: eventDays * day },
  { name: 'passcodes', column: 'created_at', keepSeconds: 2 * day },
  { name: 'backchannel_logouts', column: 'completed_at', keepSeconds: 7 * day },
  { name: 'provider_token_revocations', column: 'completed_at', keepSeconds: 7 * day },
  // A sign-in may take an hour (see `http/request/return-to.ts`).
  { name: 'pushed_requests', column: 'expires_at', keepSeconds: 3600 },
  { name: 'registration_tokens', column: 'expires_at', keepSeconds: 30 * day },
  { name: 'device_codes', column: 'expires_at', keepSeconds: day },
  { name: 'approvals', column: 'expires_at', keepSeconds: 30 * day },
  { name: 'user_code_guesses', column: 'expires_at', keepSeconds: 0 },
  { name: 'dpop_proofs', column: 'expires_at', keepSeconds: 0 },
  { name: 'workload_refusals', column: 'expires_at', keepSeconds: 0 },
  { name: 'redeemed_assertions', column: 'expires_at', keepSeconds: 0 },
  { name: 'provider_sessions', column: 'expires_at', keepSeconds: 0 },
  { name: 'received_signals', column: 'expires_at', keepSeconds: 0 },
  { name: 'client_assertions', column: 'expires_at', keepSeconds: 0 },
  { name: 'idempotency_keys', column: 'created_at', keepSeconds: day },
  { name: 'audit_logs', column: 'occurred_at', keepSeconds: 400 * day },
  { name: 'audit_logs', column: 'occurred_at', keepSeconds: securityEventDays * day, only: 'security_event' },
  // Long after what they name: a stream that stays paused.
  { name: 'log_stream_entries', column: 'due_at', keepSeconds: 400 * day },
  { name: 'request_traces', column: 'expires_at', keepSeconds: 0 },
  { name: 'user_import_errors', column: 'created_at', keepSeconds: 30 * day },
  // Of imports whose data never came to an end.
  { name: 'user_import_chunks', column: 'created_at', keepSeconds: 7 * day },
  { name: 'mails', column: 'expires_at', keepSeconds: 0 },
];

/** What a batch deleted, and where the next one of the same pass begins: no expired row before it is left but locked ones. */
export type DeletedBatch = { readonly deleted: number; readonly reached: Date | null };

/**
 * Deletes up to `limit` expired rows from `from` on, the oldest first, skipping locked ones. A pass goes on from where its last batch ended: entries
 * of the index whose rows that has just deleted stay until vacuum, and each batch would walk over those of all before it.
 */
export async function deleteExpired(
  knex: Knex,
  table: ExpiringTable,
  now: Date,
  { limit, from }: { readonly limit: number; readonly from: Date | null },
): Promise<DeletedBatch> {
  const before = new Date(now.getTime() - table.keepSeconds * 1000);
  if (table.madeBefore !== undefined)
    return { deleted: await deleteLongEnded(knex, { ...table, madeBefore: table.madeBefore }, before, limit), reached: null };
  const { rows } = await knex.raw<{ rows: { deleted: number; reached: Date | null }[] }>(
    `with gone as (
       delete from :name: where ctid = any (array(
         select ctid from :name: where :column: < :before and ${servedSql('environment_id')} ${from === null ? '' : 'and :column: >= :from'} ${table.only === undefined ? '' : 'and :only:'}
         order by :column: limit :limit for update skip locked))
       returning :column: as ended)
     select count(*)::integer as deleted, max(ended) as reached from gone`,
    { name: table.name, column: table.column, before, from, only: table.only ?? '', limit },
  );
  return rows[0] ?? { deleted: 0, reached: null };
}

/** {@link deleteExpired} of a table whose `column` isn't indexed, environment by environment. */
async function deleteLongEnded(
  knex: Knex,
  { name, column, madeBefore }: ExpiringTable & { readonly madeBefore: string },
  before: Date,
  limit: number,
): Promise<number> {
  const result = await knex.raw<{ rowCount: number }>(
    `delete from ?? where ctid = any (array(
       select old.row from environments e cross join lateral (
         select t.ctid as row from ?? t where t.environment_id = e.id and e.held_at is null and t.?? < ? and t.?? < ? order by t.??, t.id limit ? for update skip locked) old
       limit ?))`,
    [name, name, madeBefore, before, column, before, madeBefore, limit, limit],
  );
  return result.rowCount;
}
