import type { AuditLogRow } from '../../db/tables/audit_logs.js';
import type { EventRow } from '../../db/tables/events.js';
import type { AuditSource } from '../../db/tables/log_streams.js';
import { eventClasses, type ForeignNames } from '../../lib/event-classes.js';
import { isSecurityEvent, securityEvents } from '../../lib/security-events.js';
import { securityEventOf } from '../audit/security-event-record.js';

const product = { name: 'Identity Provider', vendor_name: 'Identity Provider' };
const severities = { info: 1, warning: 3, critical: 5 } as const;

/** API Activity (6003): what verb of the audit log is which activity; others are 99, other. */
const activities: ReadonlyMap<string, number> = new Map([
  ['created', 1],
  ['read', 2],
  ['updated', 3],
  ['deleted', 4],
]);

/** The class and activity of an event; one that only a newer release knows is an Authentication of another kind. */
const namesOf = (event: string): ForeignNames['ocsf'] =>
  isSecurityEvent(event) ? eventClasses[securityEvents[event].class].ocsf : { class_uid: 3002, activity_id: 99 };

const person = (id: string | null, name: string | null) => (id === null ? {} : { uid: id, ...(name !== null && { name }) });

/** Who did it: a person, or an application. */
function actorOf({ actor_kind, actor_id, actor_display }: AuditLogRow) {
  if (actor_kind === 'user') return { user: person(actor_id, actor_display) };
  return { app_name: actor_display ?? actor_kind, ...(actor_id !== null && { app_uid: actor_id }) };
}

/** What a class demands beside what all have. */
function ofClass(class_uid: number, event: string, row: AuditLogRow): Record<string, unknown> {
  switch (class_uid) {
    case 2004:
      return { finding_info: { uid: row.id, title: event } };
    case 3004:
      return {
        entity: {
          type: row.target_type,
          uid: row.target_id ?? row.target_type,
          ...(row.target_display !== null && { name: row.target_display }),
        },
      };
    case 3005: {
      const { roles, scopes } = row.changes;
      const privileges = [roles?.[1] ?? scopes?.[1] ?? []].flat().map(String);
      return { privileges };
    }
    case 6003:
      return { api: { operation: row.action, ...(row.request_id !== null && { request: { uid: row.request_id } }) } };
    default:
      return {};
  }
}

/** The record in the Open Cybersecurity Schema Framework 1; what that has no name for is under `unmapped`. */
export function ocsfRecord(source: AuditSource, row: AuditLogRow): Record<string, unknown> {
  const securityEvent = source === 'security_events' ? securityEventOf(row) : null;
  const event = securityEvent?.event ?? row.action;
  const verb = row.action.slice(row.action.indexOf('.') + 1);
  const { class_uid, activity_id } = securityEvent ? namesOf(event) : { class_uid: 6003, activity_id: activities.get(verb) ?? 99 };
  const user_id = securityEvent?.user_id ?? (row.target_type === 'user' ? row.target_id : null);
  const { environment_id, target_type, target_id, target_display, changes, reason, ip_address, user_agent, request_id } = row;
  const target = { target_type, target_id, display: target_display };
  return {
    category_uid: Math.floor(class_uid / 1000),
    class_uid,
    activity_id,
    type_uid: class_uid * 100 + activity_id,
    severity_id: severities[securityEvent?.severity ?? 'info'],
    time: row.occurred_at.getTime(),
    count: row.count,
    message: event,
    status_id: row.outcome === 'success' ? 1 : 2,
    ...(reason !== null && { status_detail: reason }),
    metadata: { version: '1.3.0', product, uid: row.id, event_code: event, ...(request_id !== null && { correlation_uid: request_id }) },
    actor: actorOf(row),
    ...(user_id !== null && { user: person(user_id, target_type === 'user' ? target_display : null) }),
    ...(ip_address !== null && { src_endpoint: { ip: ip_address } }),
    ...(user_agent !== null && { http_request: { user_agent } }),
    ...ofClass(class_uid, event, row),
    unmapped: {
      source,
      environment_id,
      client_id: securityEvent?.client_id ?? null,
      target,
      ...(securityEvent ? { detail: securityEvent.detail } : { changes }),
    },
  };
}

/** An event of the feed as API Activity (6003) in the Open Cybersecurity Schema Framework 1: what has happened, whoever did it. */
export function ocsfEvent({ environment_id, id, event_type, occurred_at, body }: EventRow): Record<string, unknown> {
  const activity_id = activities.get(event_type.slice(event_type.indexOf('.') + 1)) ?? 99;
  return {
    category_uid: 6,
    class_uid: 6003,
    activity_id,
    type_uid: 600_300 + activity_id,
    severity_id: severities.info,
    time: occurred_at.getTime(),
    message: event_type,
    status_id: 1,
    metadata: { version: '1.3.0', product, uid: id, event_code: event_type },
    actor: { app_name: product.name },
    api: { operation: event_type },
    unmapped: { source: 'events', environment_id, payload: JSON.parse(body) as unknown },
  };
}
