import type { AuditLogRow } from '../../db/tables/audit_logs.js';
import type { EventRow } from '../../db/tables/events.js';
import type { AuditSource, LogStreamFormat } from '../../db/tables/log_streams.js';
import { securityEventOf } from '../audit/security-event-record.js';
import { ecsEvent, ecsRecord } from './ecs.js';
import { ocsfEvent, ocsfRecord } from './ocsf.js';

/** The longest line, in bytes; of a longer one what was changed is left out. */
export const maxLineBytes = 262_144;

/** A record as this service has it: what the Management API shows, under the name of its source. */
function nativeRecord(source: AuditSource, row: AuditLogRow): Record<string, unknown> {
  const { environment_id } = row;
  if (source === 'security_events') return { source, environment_id, ...securityEventOf(row) };
  const { id, occurred_at, action, outcome, reason, changes, ip_address, user_agent, request_id, count } = row;
  const actor = { actor_kind: row.actor_kind, actor_id: row.actor_id, display: row.actor_display, permissions: row.actor_permissions };
  const targets = [{ target_type: row.target_type, target_id: row.target_id, display: row.target_display }];
  const happening = { id, occurred_at, action, outcome, reason, actor, targets, changes };
  return { source, environment_id, ...happening, ip_address, user_agent, request_id, count };
}

const writers = { native: nativeRecord, ecs: ecsRecord, ocsf: ocsfRecord } as const satisfies Record<
  LogStreamFormat,
  (source: AuditSource, row: AuditLogRow) => Record<string, unknown>
>;

/** The record as one line of JSON in the format, without its line end. Secrets are in no row of the audit log. */
export function lineOf(format: LogStreamFormat, source: AuditSource, row: AuditLogRow): string {
  const line = JSON.stringify(writers[format](source, row));
  return Buffer.byteLength(line) <= maxLineBytes
    ? line
    : JSON.stringify({ ...writers[format](source, { ...row, changes: {} }), truncated: true });
}

/** An event as this service has it: what the feed shows, under the name of its source. */
const nativeEvent = ({ environment_id, id, event_type, occurred_at, body }: EventRow) => ({
  source: 'events', environment_id, id, event_type, occurred_at, payload: JSON.parse(body) as unknown,
}); // prettier-ignore

const eventWriters = { native: nativeEvent, ecs: ecsEvent, ocsf: ocsfEvent } as const satisfies Record<
  LogStreamFormat,
  (row: EventRow) => Record<string, unknown>
>;

/** An event of the feed as one line; of one that is too long the payload is left out. */
export function eventLineOf(format: LogStreamFormat, row: EventRow): string {
  const line = JSON.stringify(eventWriters[format](row));
  return Buffer.byteLength(line) <= maxLineBytes
    ? line
    : JSON.stringify({ ...eventWriters[format]({ ...row, body: 'null' }), truncated: true });
}

/** What `POST /api/log_streams/{id}/test` sends: a refused sign-in of nobody, in the format, which says that it is a test. */
export function testRow(environment_id: string, id: string, occurred_at: Date): AuditLogRow {
  return {
    environment_id, id, occurred_at, action: 'login.failed', event: 'login.failed', security_event: true, outcome: 'failure', reason: 'test',
    actor_kind: 'anonymous', actor_id: null, actor_display: null, actor_permissions: [], target_type: 'user', target_id: null, target_display: null,
    changes: { test: [null, true] }, ip_address: '192.0.2.1', user_agent: null, request_id: null, idempotency_key_digest: null, organization_id: null,
    count: 1,
  }; // prettier-ignore
}
