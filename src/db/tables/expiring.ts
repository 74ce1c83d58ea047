import type { Knex } from 'knex';
import type { Config } from '../../config.js';

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

/** Spent codes and rotated tokens stay a while, so that a replay is recognised and not merely unknown. */
export const expiringTables = ({ securityEventDays }: Pick<Config, 'securityEventDays'>): readonly ExpiringTable[] => [
  { name: 'authorization_codes', column: 'expires_at', keepSeconds: day },
  { name: 'access_tokens', column: 'expires_at', keepSeconds: 0 },
  { name: 'refresh_tokens', column: 'expires_at', keepSeconds: 0 },
  { name: 'revocations', column: 'expires_at', keepSeconds: 0 },
  { name: 'browser_lockouts', column: 'expires_at', keepSeconds: 0 },
  // Longer than a challenge lasts: a replica whose clock is behind that of the sweeping one must not take it again.
  { name: 'spent_challenges', column: 'expires_at', keepSeconds: 600 },
  { name: 'sign_ins', column: 'expires_at', keepSeconds: 0 },
  { name: 'devices', column: 'expires_at', keepSeconds: 0 },
  // Of those that wait for their first code; active ones have no expiry.
  { name: 'authenticators', column: 'expires_at', keepSeconds: 0 },
  { name: 'sso_flows', column: 'expires_at', keepSeconds: 0 },
  { name: 'sessions', column: 'expires_at', keepSeconds: 7 * day },
  { name: 'webhook_deliveries', column: 'completed_at', keepSeconds: 30 * day, madeBefore: 'created_at' },
  { name: 'events', column: 'occurred_at', keepSeconds: 31 * day },
  { name: 'passcodes', column: 'created_at', keepSeconds: 2 * day },
  { name: 'backchannel_logouts', column: 'completed_at', keepSeconds: 7 * day },
  // A sign-in may take an hour (see `http/request/return-to.ts`).
  { name: 'pushed_requests', column: 'expires_at', keepSeconds: 3600 },
  { name: 'registration_tokens', column: 'expires_at', keepSeconds: 30 * day },
  // For so long a device is still told that its code has expired.
  { name: 'device_codes', column: 'expires_at', keepSeconds: 3600 },
  { name: 'user_code_guesses', column: 'expires_at', keepSeconds: 0 },
  { name: 'dpop_proofs', column: 'expires_at', keepSeconds: 0 },
  { name: 'workload_refusals', column: 'expires_at', keepSeconds: 0 },
  { name: 'client_assertions', column: 'expires_at', keepSeconds: 0 },
  { name: 'idempotency_keys', column: 'created_at', keepSeconds: day },
  { name: 'audit_logs', column: 'occurred_at', keepSeconds: 400 * day },
  { name: 'audit_logs', column: 'occurred_at', keepSeconds: securityEventDays * day, only: 'security_event' },
  // Long after what they name: a stream that stays paused.
  { name: 'log_stream_entries', column: 'due_at', keepSeconds: 400 * day },
  { name: 'request_traces', column: 'expires_at', keepSeconds: 0 },
  { name: 'mails', column: 'expires_at', keepSeconds: 0 },
];

/** Deletes up to `limit` expired rows, skipping locked ones. @returns how many */
export async function deleteExpired(knex: Knex, table: ExpiringTable, now: Date, limit: number): Promise<number> {
  const before = new Date(now.getTime() - table.keepSeconds * 1000);
  if (table.madeBefore !== undefined) return deleteLongEnded(knex, { ...table, madeBefore: table.madeBefore }, before, limit);
  const result = await knex.raw<{ rowCount: number }>(
    `delete from ?? where ctid = any (array(select ctid from ?? where ?? < ? ${table.only === undefined ? '' : 'and ??'} order by ?? limit ? for update skip locked))`,
    [table.name, table.name, table.column, before, ...(table.only === undefined ? [] : [table.only]), table.column, limit],
  );
  return result.rowCount;
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
         select t.ctid as row from ?? t where t.environment_id = e.id and t.?? < ? and t.?? < ? order by t.??, t.id limit ? for update skip locked) old
       limit ?))`,
    [name, name, madeBefore, before, column, before, madeBefore, limit, limit],
  );
  return result.rowCount;
}
