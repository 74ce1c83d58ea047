import { z } from 'zod';
import { blockClient, unblockClient, withdrawConsent } from '../../domain/grants/authorizations.js';
import { reachOfOwner } from '../../domain/reach/reach-of.js';
import { invalidTransition } from '../../domain/refusal.js';
import { authorizationOrigins, visibleAuthorizations, type DetailedAuthorization } from '../../db/tables/authorizations.js';
import { compares, matches } from '../../db/lists/conditions.js';
import { boundedText, byIndex, equalTo, indexed, isoTime, stamps, timeRange, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

const status = z.enum(['active', 'blocked']);
const origin = z.enum(authorizationOrigins).meta({
  description:
    'Who allowed it: the `person` by a consent, an `administrator` by `first_party` or a client grant, the `employer` by an identity assertion of an organization’s connection, the person elsewhere by an `approval` (CIBA).',
});

/** Which clients act for which people, whoever allowed it, and which may not: a view over consents and what clients hold. */
export const authorizations = resource<DetailedAuthorization>({
  type: 'authorization',
  path: 'authorizations',
  permissions: 'users',
  description:
    'Which clients act for which people, whoever allowed it. They come about with consents and tokens; revoking one ends all that the client holds of the person, and all that others were given for it.',
  source: { visible: visibleAuthorizations },
  attributes: z.object({
    origin,
    status: status.meta({ description: '`blocked`: the client gets nothing of the person any more.' }),
    scopes: z.array(z.string()).meta({ description: 'Every scope that the client may have of the person.' }),
    resource_scopes: z
      .record(z.string(), z.array(z.string()))
      .meta({ description: 'The scopes by API resource (identifier); under the empty name those without one.' }),
    authorization_details: z
      .array(z.record(z.string(), z.unknown()))
      .meta({ description: 'What was allowed beyond scopes (RFC 9396): details that are remembered, and those of refresh tokens.' }),
    granted_at: isoTime.meta({ description: 'When it first was allowed.' }),
    last_used_at: isoTime.meta({ description: 'When the client last got a token by it, to the hour.' }),
    blocked_at: isoTime.nullable().meta({ description: 'Since when the client gets nothing of the person any more; null = it does.' }),
    ...stamps,
  }),
  computed: {
    created_at: (row) => row.granted_at,
    status: (row) => (row.blocked_at === null ? 'active' : 'blocked'),
    authorization_details: (row) => row.authorization_details ?? [],
    scopes: (row) => [...new Set(Object.values(row.resource_scopes).flat())],
  },
  reach: { of: reachOfOwner },
  relationships: { user: toOne('user', 'For whom the client acts.'), client: toOne('client', 'What acts.') },
  filters: {
    user: byIndex(equalTo('user_id', uuid, 'Of one of these users (ids).')),
    client: byIndex(equalTo('client_id', boundedText(512), 'Of one of these clients (ids).')),
    origin: equalTo('origin', z.enum(authorizationOrigins), 'Allowed by one of these.'),
    status: {
      description: 'Active or blocked.',
      schema: status,
      condition: (_ctx, values) =>
        matches('(authorizations.blocked_at is not null) = any (?::boolean[])', [values.map((one) => one === 'blocked')]),
    },
    unused_since: {
      description: 'Not used since this time.',
      schema: isoTime,
      condition: (_ctx, [value]) => compares({ column: 'last_used_at', comparison: 'lt', value: new Date(value as string) }),
    },
    granted_at: timeRange('granted_at', 'When it first was allowed.'),
  },
  sorts: indexed({
    created_at: { expression: 'authorizations.granted_at', type: 'timestamptz' },
    granted_at: { expression: 'authorizations.granted_at', type: 'timestamptz' },
    last_used_at: { expression: 'authorizations.last_used_at', type: 'timestamptz' },
    updated_at: { expression: 'authorizations.updated_at', type: 'timestamptz' },
  }),
  actions: {
    revoke: {
      method: 'PATCH',
      description:
        'Ends all that the client holds of the person, and all that others were given for it. The client may ask again; one that is not blocked is gone.',
      audit: 'revoked',
      touch: 'control',
      async run(tx, _actor, row) {
        await withdrawConsent(tx, row.user_id, row.client_id);
        return { row: { ...row, resource_scopes: {} } };
      },
    },
    block: {
      method: 'PATCH',
      description:
        'The same, and the client gets nothing of the person until it is unblocked, by whatever flow; only an administrator unblocks it.',
      audit: 'blocked',
      touch: 'control',
      run: async (tx, _actor, row) => ({ row: (await blockClient(tx, row, 'administrator')) ?? row }),
    },
    unblock: {
      method: 'PATCH',
      description: 'The client may ask again, whoever blocked it; what it held stays ended.',
      audit: 'unblocked',
      touch: 'control',
      async run(tx, _actor, row) {
        const unblocked = await unblockClient(tx, row, 'administrator');
        if (!unblocked) throw invalidTransition('Only a blocked client can be unblocked.');
        return { row: unblocked };
      },
    },
  },
  display: (row) => row.client_id,
});
