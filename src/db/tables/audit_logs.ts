import type { Knex } from 'knex';
import type { SecurityEventName } from '../../lib/security-events.js';
import { run, table, type Scope } from '../scope.js';
import { runSystem } from '../system.js';
import { eventValues, storeEventsSql } from './events.js';

export type AuditLogRow = {
  environment_id: string;
  id: string;
  occurred_at: Date;
  action: string;
  outcome: 'success' | 'denied' | 'failure';
  reason: string | null;
  /** `anonymous`: nobody has proven to be anybody, such as at a refused sign-in. */
  actor_kind: 'user' | 'client' | 'system' | 'anonymous';
  actor_id: string | null;
  actor_display: string | null;
  actor_permissions: string[];
  target_type: string;
  target_id: string | null;
  target_display: string | null;
  changes: Record<string, [unknown, unknown]>;
  ip_address: string | null;
  user_agent: string | null;
  request_id: string | null;
  idempotency_key_digest: Buffer | null;
  /** Of an operation of the Management API: the organization that the record, or who asked, belongs to. */
  organization_id: string | null;
  /** How often it happened within the minute of `occurred_at`. */
  count: number;
  /** A security event by itself, kept for SECURITY_EVENT_DAYS; false for an operation of the Management API, which may be one too. */
  security_event: boolean;
  /** Which security event it is; null for none, and in rows of the release before, where `security_event` says that it is `action`. */
  event: SecurityEventName | null;
};

/** An entry that counts repetitions: its id is derived from event, environment, target, address and minute, so that equal ones share a row. */
export type CountedAuditLogRow = Omit<AuditLogRow, 'idempotency_key_digest' | 'organization_id'> &
  Partial<Pick<AuditLogRow, 'organization_id'>>;

const insertText = (rows: number, withEvents: boolean) => {
  const row = (_: unknown, at: number) => `($1, ${Array.from({ length: 20 }, (__, column) => `$${at * 20 + column + 2}`).join(', ')})`;
  return `${withEvents ? `with stored as materialized (${storeEventsSql(rows * 20 + 2)})` : ''} insert into audit_logs (environment_id, id, occurred_at, action, outcome, reason, actor_kind, actor_id, actor_display,
    actor_permissions, target_type, target_id, target_display, changes, ip_address, user_agent, request_id, idempotency_key_digest, security_event, event,
    organization_id)
  values ${Array.from({ length: rows }, row).join(', ')} ${withEvents ? 'returning (select count(*) from stored)' : ''}`;
};

type NewAuditLog = Omit<AuditLogRow, 'environment_id' | 'count' | 'security_event' | 'event' | 'organization_id'> &
  Partial<Pick<AuditLogRow, 'security_event' | 'event' | 'organization_id'>>;

/** How many entries one statement appends: few sizes, for the database keeps a plan of each. */
const statementSizes = [64, 16, 4, 2, 1] as const;

/** Appends many entries. */
export async function insertAuditLogs(scope: Scope, rows: readonly NewAuditLog[]): Promise<void> {
  let first = 0;
  for (const size of statementSizes)
    for (; rows.length - first >= size; first += size) await insertAuditLog(scope, ...rows.slice(first, first + size));
}

/** Appends entries, with the events that the transaction has collected, in one statement. They are never changed, and deleted only when they expire. */
export async function insertAuditLog(scope: Scope, ...rows: readonly NewAuditLog[]): Promise<void> {
  const values = rows.flatMap((row) => [
    row.id, row.occurred_at, row.action, row.outcome, row.reason, row.actor_kind, row.actor_id, row.actor_display, row.actor_permissions,
    row.target_type, row.target_id, row.target_display, JSON.stringify(row.changes), row.ip_address, row.user_agent, row.request_id,
    row.idempotency_key_digest, row.security_event ?? false, row.event ?? null, row.organization_id ?? null,
  ]); // prettier-ignore
  const events = scope.events?.splice(0) ?? [];
  const name = `audit_logs.insert_${rows.length}${events.length > 0 ? '_with_events' : ''}`;
  await run(scope, { name, text: insertText(rows.length, events.length > 0) }, [
    ...values,
    ...(events.length > 0 ? eventValues(events) : []),
  ]);
}

export type RecordedChange = Pick<
  AuditLogRow,
  'occurred_at' | 'action' | 'actor_kind' | 'actor_id' | 'actor_display' | 'target_type' | 'target_id' | 'changes' | 'request_id'
>;

/** The changes since a time to records of the ids, but for those that one request made; the latest first. */
export async function listChangesSince(
  scope: Scope,
  query: { since: Date; ids: readonly string[]; without: string; limit: number },
): Promise<RecordedChange[]> {
  const text = `select occurred_at, action, actor_kind, actor_id, actor_display, target_type, target_id, changes, request_id from audit_logs
      where environment_id = $1 and occurred_at >= $2 and target_id = any($3::text[]) and outcome = 'success' and not security_event
        and request_id is distinct from $4
      order by occurred_at desc, id desc limit $5`;
  return run<RecordedChange>(scope, { name: 'audit_logs.changes_since', text }, [query.since, [...query.ids], query.without, query.limit]);
}

export type OwnSignIn = Pick<AuditLogRow, 'occurred_at' | 'outcome' | 'count' | 'ip_address' | 'user_agent'>;

const signInsBy = (who: string, event: string) => `
  (select id, occurred_at, outcome, count, ip_address, user_agent from audit_logs
   where environment_id = $1 and ${who} = $2 and action = '${event}' and security_event order by occurred_at desc, id desc limit $3)`;

/** The last sign-ins of a user, and those that were refused; the latest first. */
export function listSignInsOfUser(scope: Scope, user_id: string, limit: number): Promise<OwnSignIn[]> {
  const both = `${signInsBy('actor_id', 'login.succeeded')} union all ${signInsBy('target_id', 'login.failed')}`;
  const text = `select occurred_at, outcome, count, ip_address, user_agent from (${both}) own order by occurred_at desc, id desc limit $3`;
  return run<OwnSignIn>(scope, { name: 'audit_logs.sign_ins', text }, [user_id, limit]);
}

export const auditColumnsSql = `environment_id, id, occurred_at, action, outcome, reason, actor_kind, actor_id, actor_display, actor_permissions, target_type, target_id,
  target_display, changes, ip_address, user_agent, request_id, count, security_event, event, organization_id`;

/** Where a page of entries begins: those older than a position, or newer ones; neither: the latest. */
export type ActivityPage = {
  readonly party: string;
  /** Whether the party is an organization. */
  readonly is_organization: boolean;
  readonly at: Date | null;
  readonly id: string | null;
  readonly newer: boolean;
  readonly limit: number;
};

/**
 * The entries by a party and about it, and about what is an organization's, as one list: at most `limit` of each, by their indexes, and so many of all together;
 * the latest first.
 */
export async function listActivity(scope: Scope, { party, is_organization, at, id, newer, limit }: ActivityPage): Promise<AuditLogRow[]> {
  const [than, order] = newer ? ['>', 'asc'] : ['<', 'desc'];
  const side = (column: string, type = '') => `(
    select ${auditColumnsSql} from audit_logs
    where environment_id = $1 and ${column} = $2${type} and ($3::timestamptz is null or (occurred_at, id) ${than} ($3, $4::uuid))
    order by occurred_at ${order}, id ${order} limit $5)`;
  const sides = [side('actor_id'), side('target_id'), ...(is_organization ? [side('organization_id', '::uuid')] : [])];
  const text = `select * from (${sides.join(' union ')}) entries order by occurred_at ${order}, id ${order} limit $5`;
  const name = `audit_logs.activity_${is_organization ? 'of_organization_' : ''}${newer ? 'newer' : 'older'}`;
  const rows = await run<AuditLogRow>(scope, { name, text }, [party, at, id, limit]);
  return newer ? rows.reverse() : rows;
}

// Ordered by id, so that replicas that update the same rows lock them in the same order and don't deadlock.
const counted = (rows: string, where = '') => `
  insert into audit_logs (${auditColumnsSql})
  select ${auditColumnsSql} from jsonb_populate_recordset(null::audit_logs, ${rows}::jsonb) entry
  where takes_writes(entry.environment_id) ${where}
  order by environment_id, id
  on conflict (environment_id, id) do update set count = audit_logs.count + excluded.count`;

/** Appends an entry, or adds its count to the one of the same id. */
export async function countAuditLog(scope: Scope, row: Omit<CountedAuditLogRow, 'environment_id'>): Promise<void> {
  await run(scope, { name: 'audit_logs.count', text: counted('$2', 'and entry.environment_id = $1') }, [
    JSON.stringify([{ ...row, environment_id: scope.environment_id }]),
  ]);
}

/**
 * The same for entries of any environments, in one statement. Ids must differ; entries of an environment that is gone are left out.
 * @returns the ids of those that were not there before
 */
export async function countAuditLogs(knex: Knex, rows: readonly CountedAuditLogRow[]): Promise<ReadonlySet<string>> {
  if (rows.length === 0) return new Set();
  const text = `${counted('$1')} returning id, count`;
  const written = await runSystem<{ id: string; count: number }>(knex, { name: 'audit_logs.count_all', text }, [JSON.stringify(rows)]);
  const added = new Map(rows.map(({ id, count }) => [id, count]));
  return new Set(written.filter(({ id, count }) => count === added.get(id)).map(({ id }) => id));
}

/** The name that a row of {@link visibleSecurityEvents} has, as SQL; an index of theirs has the same expression. */
export const securityEventNameSql = 'coalesce(audit_logs.event, audit_logs.action)';

/** Whether a row is the security event of a write, which has a row of its own with what was changed: its detail names the operation. */
export const ofWriteSql =
  "audit_logs.security_event and audit_logs.actor_kind in ('user', 'client') and audit_logs.changes -> 'action' is not null";

/** The entries that are security events; their indexes are partial by the very same condition. */
export const visibleSecurityEvents = (scope: Scope): Knex.QueryBuilder =>
  table<AuditLogRow>(scope, 'audit_logs').whereRaw(
    '(audit_logs.security_event or audit_logs.event is not null)',
  ) as unknown as Knex.QueryBuilder;

/** The entries of the ids, in no particular order. For the log streams, which go on for all environments. */
export function listAuditLogsById(knex: Knex, environment_id: string, ids: readonly string[]): Promise<AuditLogRow[]> {
  const text = `select ${auditColumnsSql} from audit_logs where environment_id = $1 and id = any ($2::uuid[])`;
  return runSystem<AuditLogRow>(knex, { name: 'audit_logs.by_id', text }, [environment_id, [...ids]]);
}
