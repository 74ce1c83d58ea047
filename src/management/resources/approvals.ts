import { z } from 'zod';
import { approvalStatus, approvalStatuses } from '../../domain/approvals/approvals.js';
import { reachOfOwner } from '../../domain/reach/reach-of.js';
import { invalidTransition } from '../../domain/refusal.js';
import { endApprovals, type ApprovalRow } from '../../db/tables/approvals.js';
import { matches } from '../../db/lists/conditions.js';
import { boundedText, byIndex, equalTo, indexed, isoTime, stamps, stampSorts, timeRange, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

const status = z.enum(approvalStatuses);

/** What clients asked people elsewhere, and what came of it (CIBA Core 1.0). */
export const approvals = resource<ApprovalRow>({
  type: 'approval',
  path: 'approvals',
  permissions: 'users',
  description: 'What clients asked people for who were elsewhere (CIBA), and what came of it; kept for 30 days after it expired.',
  attributes: z.object({
    binding_message: z.string().nullable().meta({ description: 'What the client said that it was about; null = nothing.' }),
    scopes: z.array(z.string()).meta({ description: 'What it asked for.' }),
    authorization_details: z
      .array(z.record(z.string(), z.unknown()))
      .meta({ description: 'What it asked for beyond scopes (RFC 9396): all of it was allowed, or nothing.' }),
    acr: z.string().nullable().meta({ description: 'The class that the person proved; null = it was not approved.' }),
    status: status.meta({ description: '`expired`: nobody answered in time, or it was cancelled.' }),
    muted: z.boolean().meta({ description: 'Whether the person refused, and does not want to be asked for a day.' }),
    decided_at: isoTime.nullable().meta({ description: 'When the person answered; null = not at all.' }),
    expires_at: isoTime.meta({ description: 'Until when it can be answered, and the answer fetched.' }),
    ...stamps,
  }),
  computed: {
    scopes: (row) => row.scope.split(' ').filter((one) => one !== ''),
    authorization_details: (row) => row.authorization_details ?? [],
    status: (row, ctx) => approvalStatus(row, ctx.clock.now()),
  },
  reach: { of: async (tx, { user_id }) => (user_id === null ? new Set<string>() : reachOfOwner(tx, { user_id })) },
  relationships: {
    user: toOne('user', 'Whom it asked; none = the hint was nobody’s, or the person wants to hear nothing of the client.'),
    client: toOne('client', 'Which client asked.'),
  },
  filters: {
    user: byIndex(equalTo('user_id', uuid, 'To one of these users (ids).')),
    client: byIndex(equalTo('client_id', boundedText(512), 'Of one of these clients (ids).')),
    status: {
      description: 'What came of it.',
      schema: status,
      condition: (ctx, values) =>
        matches(`coalesce(approvals.decision, case when approvals.expires_at <= ? then 'expired' else 'pending' end) = any (?::text[])`, [
          ctx.clock.now(),
          values,
        ]),
    },
    created_at: timeRange('created_at', 'When the client asked.'),
  },
  sorts: indexed(stampSorts('approvals')),
  actions: {
    cancel: {
      method: 'PATCH',
      description: 'Ends a question that waits: the client gets `expired_token`.',
      audit: 'cancelled',
      touch: 'control',
      async run(tx, _actor, row) {
        const now = tx.clock.now();
        if ((await endApprovals(tx.scope, { id: row.id }, now)) === 0) throw invalidTransition('Only what waits can be cancelled.');
        return { row: { ...row, expires_at: now, updated_at: now, version: row.version + 1 } };
      },
    },
  },
  display: (row) => row.binding_message ?? row.client_id,
});
