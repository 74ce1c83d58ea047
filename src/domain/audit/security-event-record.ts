import type { AuditLogRow } from '../../db/tables/audit_logs.js';
import type { SecurityEvent } from '../../lib/security-event.js';
import { isSecurityEvent, securityEvents } from '../../lib/security-events.js';

/** A security event as the Management API and the log streams show it. */
export type SecurityEventRecord = {
  readonly id: string;
  /** A name of `securityEvents`, or one that only a newer release knows, which a replica of it has written. */
  readonly event: string;
  readonly severity: SecurityEvent['severity'];
  readonly occurred_at: Date;
  readonly outcome: AuditLogRow['outcome'];
  readonly actor: { readonly actor_kind: AuditLogRow['actor_kind']; readonly actor_id: string | null; readonly display: string | null };
  /** Whom it is about, else who did it; null when that is no person. */
  readonly user_id: string | null;
  /** Which client it is about, else which did it; null when none. */
  readonly client_id: string | null;
  readonly ip_address: string | null;
  readonly user_agent: string | null;
  readonly request_id: string | null;
  readonly count: number;
  readonly detail: Readonly<Record<string, unknown>>;
};

/** The id of the target if it is of the kind, else that of the actor if that is. */
const partyOf = (row: AuditLogRow, kind: 'user' | 'client'): string | null =>
  row.target_type === kind && row.target_id !== null ? row.target_id : row.actor_kind === kind ? row.actor_id : null;

export function securityEventOf(row: AuditLogRow): SecurityEventRecord {
  const event = row.event ?? row.action;
  const { id, occurred_at, outcome, ip_address, user_agent, request_id, count, actor_kind, actor_id, actor_display, reason } = row;
  const target = { target_type: row.target_type, target_id: row.target_id, display: row.target_display };
  const newValues = Object.fromEntries(Object.entries(row.changes).map(([name, [, value]]) => [name, value]));
  return {
    id,
    event,
    severity: isSecurityEvent(event) ? securityEvents[event].severity : 'warning',
    occurred_at,
    outcome,
    actor: { actor_kind, actor_id, display: actor_display },
    user_id: partyOf(row, 'user'),
    client_id: partyOf(row, 'client'),
    ip_address,
    user_agent,
    request_id,
    count,
    detail: {
      reason,
      target,
      ...(row.event === row.action || row.event === null ? {} : { action: row.action }),
      ...(row.security_event ? newValues : {}),
    },
  };
}
