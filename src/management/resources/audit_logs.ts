import { z } from 'zod';
import { noReach } from '../../core/reach.js';
import { equalTo, text, time, timeRange } from '../fields.js';
import { resource } from '../resource.js';
import type { AuditLogRow } from '../../db/tables/audit_logs.js';
import { environmentLink } from './environment-link.js';

const outcome = z.enum(['success', 'denied']);

/** Who did what. */
export const audit_logs = resource<AuditLogRow>({
  type: 'audit_log',
  path: 'audit_logs',
  title: 'Audit logs',
  description: 'Every write, and every request refused for want of permission. Nobody can change an entry; it is kept for 400 days.',
  source: { table: 'audit_logs', key: 'id', keyType: 'uuid' },
  attributes: z.object({
    occurred_at: time,
    action: z.string(),
    outcome,
    reason: z.string().nullable(),
    actor: z.object({
      actor_kind: z.enum(['user', 'client', 'system']),
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
  reach: { of: () => noReach, attributes: {} },
  relationships: { environment: environmentLink },
  filters: {
    actor: equalTo('actor_id', text(255), 'Done by one of these (user id or client_id).'),
    action: equalTo('action', text(100), 'One of these actions, such as webhook.secret_rotated.'),
    target: equalTo('target_id', text(255), 'Done to one of these (ids).'),
    outcome: equalTo('outcome', outcome, 'Done or denied.'),
    occurred_at: timeRange('occurred_at', 'When.'),
  },
  sorts: { occurred_at: { expression: 'audit_logs.occurred_at', type: 'timestamptz' } },
  defaultSort: '-occurred_at',
});
