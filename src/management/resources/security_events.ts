import { z } from 'zod';
import { noReach } from '../../domain/reach/reach.js';
import { isSecurityEvent, securityEvents, type SecurityEventName } from '../../lib/security-events.js';
import { securityEventNameSql, visibleSecurityEvents, type AuditLogRow } from '../../db/tables/audit_logs.js';
import { securityEventOf } from '../../domain/audit/security-event-record.js';
import { boundedText, equalTo, isoTime, timeRange } from '../fields.js';
import { resource } from '../declaration.js';
import type { Filter } from '../resource.js';

const names = Object.keys(securityEvents) as [SecurityEventName, ...SecurityEventName[]];
const event = z.enum(names);
const severity = z.enum(['info', 'warning', 'critical']);
const outcome = z.enum(['success', 'denied', 'failure']);
const text = z.string().nullable();

/** Those whose name is one of the given. */
const named = (description: string, schema: z.ZodType, of: (values: readonly unknown[]) => readonly string[]): Filter => ({
  description,
  schema,
  condition: (_ctx, values) => (query) => void query.whereRaw(`${securityEventNameSql} = any(?)`, [[...of(values)]]),
});

export const security_events = resource<AuditLogRow>({
  type: 'security_event',
  path: 'security_events',
  description:
    'Sign-ins and refused ones, reused codes and tokens, changed roles, keys, secrets and settings, denied operations: a closed list of names that never change. Nobody can change an entry. Kept for 180 days, or for SECURITY_EVENT_DAYS.',
  source: { table: 'audit_logs', visible: visibleSecurityEvents },
  attributes: z.object({
    event: z
      .string()
      .meta({ description: 'What happened, by a name that is never changed; docs/reference/security-events.md describes each.' }),
    severity: severity.meta({ description: '`critical`: somebody should look at once.' }),
    occurred_at: isoTime,
    outcome,
    actor: z.object({
      actor_kind: z.enum(['user', 'client', 'system', 'anonymous']).meta({ description: 'anonymous: nobody had proven to be anybody.' }),
      actor_id: text,
      display: text,
    }),
    user_id: text.meta({ description: 'Whom it is about, else who did it; null = no person, or none that is known.' }),
    client_id: text.meta({ description: 'Which client it is about, else which did it; null = none.' }),
    ip_address: text,
    user_agent: text,
    request_id: text,
    count: z.int().meta({
      description: 'How often it happened within that minute. What repeats has one entry, with the request of the first time.',
    }),
    detail: z.record(z.string(), z.unknown()).meta({ description: '`reason`, `target`, and what the kind of event has beside them.' }),
  }),
  computed: {
    event: (row) => securityEventOf(row).event,
    severity: (row) => securityEventOf(row).severity,
    actor: (row) => securityEventOf(row).actor,
    user_id: (row) => securityEventOf(row).user_id,
    client_id: (row) => securityEventOf(row).client_id,
    detail: (row) => securityEventOf(row).detail,
  },
  reach: { of: () => noReach },
  filters: {
    event: named('One of these events.', event, (values) => (values as string[]).filter(isSecurityEvent)),
    severity: named('One of these severities.', severity, (values) =>
      names.filter((name) => values.includes(securityEvents[name].severity)),
    ),
    outcome: equalTo('outcome', outcome, 'Done, denied, or failed.'),
    actor: equalTo('actor_id', boundedText(255), 'Done by one of these (user id or client_id).'),
    target: equalTo('target_id', boundedText(255), 'Done to one of these (ids).'),
    occurred_at: timeRange('occurred_at', 'When.'),
  },
  sorts: { occurred_at: { expression: 'audit_logs.occurred_at', type: 'timestamptz' } },
  defaultSort: '-occurred_at',
  display: (row) => securityEventOf(row).event,
});
