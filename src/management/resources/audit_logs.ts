import { z } from 'zod';
import { noReach } from '../../domain/reach/reach.js';
import { equalTo, flagFilter, boundedText, isoTime, timeRange } from '../fields.js';
import { resource } from '../declaration.js';
import { ofWriteSql, type AuditLogRow } from '../../db/tables/audit_logs.js';

const outcome = z.enum(['success', 'denied', 'failure']);

export const audit_logs = resource<AuditLogRow>({
  type: 'audit_log',
  path: 'audit_logs',
  description:
    'Every write, every request refused for want of permission, and security events such as sign-ins, refused ones and consents. Nobody can change an entry. Writes and refusals are kept for 400 days, security events for 180.',
  organization: { column: 'organization_id' },
  attributes: z.object({
    occurred_at: isoTime,
    action: z.string(),
    outcome,
    reason: z.string().nullable(),
    actor: z.object({
      actor_kind: z.enum(['user', 'client', 'system', 'anonymous']).meta({ description: 'anonymous: nobody had proven to be anybody.' }),
      actor_id: z.string().nullable(),
      display: z.string().nullable(),
      permissions: z.array(z.string()),
    }),
    targets: z.array(z.object({ target_type: z.string(), target_id: z.string().nullable(), display: z.string().nullable() })),
    changes: z
      .record(z.string(), z.array(z.unknown()))
      .meta({ description: 'Per attribute the old and the new value; secrets are redacted.' }),
    ip_address: z.string().nullable(),
    user_agent: z.string().nullable(),
    request_id: z.string().nullable(),
    count: z.int().meta({
      description:
        'How often it happened within that minute. What is refused again and again has one entry, with the request of the first time.',
    }),
    security_event: z.boolean().meta({ description: 'A security event, as against an operation of the Management API or the dashboard.' }),
  }),
  computed: {
    actor: ({ actor_kind, actor_id, actor_display, actor_permissions }) => ({
      actor_kind,
      actor_id,
      display: actor_display,
      permissions: actor_permissions,
    }),
    targets: ({ target_type, target_id, target_display }) => [{ target_type, target_id, display: target_display }],
  },
  reach: { of: () => noReach },
  filters: {
    actor: equalTo('actor_id', boundedText(512), 'Done by one of these (user id or client_id).'),
    action: equalTo('action', boundedText(100), 'One of these actions, such as webhook.secret_rotated or login.failed.'),
    target: equalTo('target_id', boundedText(255), 'Done to one of these (ids).'),
    outcome: equalTo('outcome', outcome, 'Done, denied, or failed.'),
    security_event: flagFilter('security_event', 'Only security events, or only operations.'),
    of_write: {
      description: 'Only security events that say what the entry of a write says too, or all entries but those.',
      schema: z.enum(['true', 'false']),
      condition: (_ctx, values) => (query) => void query.whereRaw(`(${ofWriteSql}) = any(?)`, [values.map((value) => value === 'true')]),
    },
    occurred_at: timeRange('occurred_at', 'When.'),
  },
  sorts: { occurred_at: { expression: 'audit_logs.occurred_at', type: 'timestamptz' } },
  defaultSort: '-occurred_at',
});
