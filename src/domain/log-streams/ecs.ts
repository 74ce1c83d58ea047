import type { AuditLogRow } from '../../db/tables/audit_logs.js';
import type { EventRow } from '../../db/tables/events.js';
import type { AuditSource } from '../../db/tables/log_streams.js';
import { eventClasses, type ForeignNames } from '../../lib/event-classes.js';
import { isSecurityEvent, securityEvents } from '../../lib/security-events.js';
import { securityEventOf } from '../audit/security-event-record.js';

const version = '8.17.0';
const severities = { info: 1, warning: 3, critical: 5 } as const;

/** An operation of the Management API that is no security event. */
const operation: ForeignNames['ecs'] = { category: ['configuration'], type: ['change'] };

/** The names for an event; one that only a newer release knows is information. */
const namesOf = (event: string): ForeignNames['ecs'] =>
  isSecurityEvent(event) ? eventClasses[securityEvents[event].class].ecs : { category: ['iam'], type: ['info'] };

/** Who did it and, if it was somebody else, whom it is about. */
function usersOf(actor_id: string | null, user_id: string | null) {
  const id = actor_id ?? user_id;
  if (id === null) return {};
  return { user: { id, ...(user_id !== null && user_id !== id && { target: { id: user_id } }) } };
}

/** What both sources have. */
const shared = ({ environment_id, occurred_at, request_id, ip_address, user_agent, count, outcome, reason }: AuditLogRow) => ({
  common: {
    '@timestamp': occurred_at.toISOString(),
    ecs: { version },
    ...(ip_address !== null && { source: { ip: ip_address } }),
    ...(user_agent !== null && { user_agent: { original: user_agent } }),
    ...(request_id !== null && { http: { request: { id: request_id } } }),
  },
  event: { outcome: outcome === 'success' ? 'success' : 'failure', provider: 'identity-provider', ...(reason !== null && { reason }) },
  idp: { environment_id, count },
});

/** The record in the Elastic Common Schema 8; what that has no name for is under `idp`. */
export function ecsRecord(source: AuditSource, row: AuditLogRow): Record<string, unknown> {
  const { common, event, idp } = shared(row);
  const dataset = `idp.${source}`;
  const actor_id = row.actor_kind === 'user' ? row.actor_id : null;
  if (source === 'security_events') {
    const { id, event: action, severity, user_id, client_id, detail, actor } = securityEventOf(row);
    const { category, type } = namesOf(action);
    const kind = severity === 'critical' ? 'alert' : 'event';
    return {
      ...common,
      message: action,
      event: { id, kind, action, category, type, dataset, severity: severities[severity], ...event },
      ...usersOf(actor_id, user_id),
      idp: { ...idp, client_id, actor, detail },
    };
  }
  const { id, action, changes, target_type, target_id, target_display } = row;
  const actor = { actor_kind: row.actor_kind, actor_id: row.actor_id, display: row.actor_display };
  // Values of any type under names of any kind: as text, lest an index refuse a line for its mapping.
  const details = { target: { target_type, target_id, display: target_display }, changes: JSON.stringify(changes) };
  return {
    ...common,
    message: action,
    event: { id, kind: 'event', action, ...operation, dataset, severity: 1, ...event },
    ...usersOf(actor_id, target_type === 'user' ? target_id : null),
    idp: { ...idp, actor, ...details },
  };
}

/** An event of the feed in the Elastic Common Schema 8; its payload is text, lest an index refuse a line for its mapping. */
export const ecsEvent = ({ environment_id, id, event_type, occurred_at, body }: EventRow): Record<string, unknown> => ({
  '@timestamp': occurred_at.toISOString(),
  ecs: { version },
  message: event_type,
  event: { id, kind: 'event', action: event_type, category: ['iam'], type: ['info'], dataset: 'idp.events', provider: 'identity-provider' },
  idp: { environment_id, payload: body },
});
