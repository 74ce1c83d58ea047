import { z } from 'zod';
import { contextOf } from '../../domain/sessions/authentication-context.js';
import { classes } from '../../domain/proofs/classes.js';
import { endSessions, sessionBounds, sessionStatus } from '../../domain/sessions/sessions.js';
import { reachOfOwner } from '../../domain/reach/reach-of.js';
import { invalidTransition } from '../../domain/refusal.js';
import type { Context } from '../../domain/context.js';
import { matches } from '../../db/lists/conditions.js';
import { hasSessionStatus } from '../../db/tables/session_status.js';
import { findSession, touchSession, type SessionRow } from '../../db/tables/sessions.js';
import { byIndex, equalTo, stamps, stampSorts, indexed, isoTime, timeRange, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

const status = z.enum(['active', 'expired', 'revoked']);

function hasStatus(ctx: Context, statuses: readonly z.infer<typeof status>[]) {
  const bounds = sessionBounds(ctx);
  const any = [...new Set(statuses)].map((one) => hasSessionStatus(ctx.environment.id, one, bounds));
  return matches(
    `(${any.map(({ sql }) => sql).join(' or ')})`,
    any.flatMap(({ values }) => values),
  );
}

async function revoke(tx: Context, row: SessionRow): Promise<SessionRow> {
  await endSessions(tx, { id: row.id }, 'revoked');
  return (await findSession(tx.scope, row.id)) ?? row;
}

export const sessions = resource<SessionRow>({
  type: 'session',
  path: 'sessions',
  description: 'Where users are, or were, signed in. The token of a session is never shown.',
  attributes: z.object({
    ip_address: z.string().nullable(),
    user_agent: z.string().nullable(),
    status,
    authenticated_at: isoTime.meta({
      description: 'When the user last proved who they are, here or at a provider; never later than the provider says.',
    }),
    auth_time_known: z.boolean().meta({ description: 'false: the provider did not say when; the sign-in counts as fresh for nothing.' }),
    signed_in_at: isoTime.meta({ description: 'When the user last signed in to this browser; session_lifetime counts from here.' }),
    last_activity_at: isoTime,
    expires_at: isoTime,
    revoked_at: isoTime.nullable(),
    revoke_reason: z.string().nullable(),
    amr: z.array(z.string()).meta({ description: 'How the user proved who they are (RFC 8176).' }),
    acr: z.enum(classes).meta({
      description: 'The class that the session has reached: `1` = one factor, `2` = a second one as well, `phr` = a passkey.',
    }),
    provider_amr: z
      .array(z.string())
      .nullable()
      .meta({ description: 'What the provider says of how; it is never passed on as `amr`. null without a provider.' }),
    provider_acr: z.string().nullable(),
    device_client_id: z
      .string()
      .nullable()
      .meta({ description: 'The client of the device that was allowed to act for the user (RFC 8628); null for a browser.' }),
    ...stamps,
  }),
  computed: { status: (row, ctx) => sessionStatus(ctx, row), amr: (row) => contextOf(row).amr, acr: (row) => contextOf(row).acr },
  reach: { of: reachOfOwner },
  relationships: {
    user: toOne('user', 'Who is signed in.'),
    clients: {
      kind: 'many',
      to: 'client',
      by: { table: 'session_clients', near: 'session_id', far: 'client_id' },
      description: 'The clients that it signed in to.',
      include: true,
    },
  },
  filters: {
    user: byIndex(equalTo('user_id', uuid, 'Of one of these users (ids).')),
    status: {
      description: 'Active, expired or revoked.',
      schema: status,
      condition: (ctx, values) => hasStatus(ctx, values as z.infer<typeof status>[]),
    },
    ip_address: byIndex(equalTo('ip_address', z.union([z.ipv4(), z.ipv6()]), 'From this address.')),
    last_activity_at: timeRange('last_activity_at', 'When it was last used.'),
    created_at: timeRange('created_at', 'When it began.'),
  },
  sorts: indexed({ ...stampSorts('sessions'), last_activity_at: { expression: 'sessions.last_activity_at', type: 'timestamptz' } }),
  remove: { run: async (tx, _actor, row) => void (await revoke(tx, row)), audit: 'revoked' },
  actions: {
    touch: {
      method: 'PATCH',
      description: 'Moves last_activity_at to now; the expiry stays.',
      audit: 'touched',
      touch: 'control',
      async run(tx, _actor, row) {
        const touched = await touchSession(tx.scope, row.id, sessionBounds(tx));
        if (!touched) throw invalidTransition('Only an active session can be touched.');
        return { row: touched };
      },
    },
    revoke: {
      method: 'PATCH',
      description: 'Ends the session and what was issued in it; once more changes nothing.',
      audit: 'revoked',
      touch: 'control',
      run: async (tx, _actor, row) => ({ row: await revoke(tx, row) }),
    },
  },
  display: (row) => row.ip_address,
});
