import { z } from 'zod';
import { withdrawConsent } from '../../domain/grants/authorizations.js';
import { reachOfOwner } from '../../domain/reach/reach-of.js';
import type { ConsentRow } from '../../db/tables/consents.js';
import { byIndex, equalTo, indexed, holding, stamps, boundedText, isoTime, timeRange, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

/** What users allowed clients that aren't first-party. */
export const consents = resource<ConsentRow>({
  type: 'consent',
  path: 'consents',
  permissions: 'users',
  description:
    'What users allowed clients that ask first. They come about on the consent page; deleting one ends all that the client holds of the user.',
  attributes: z.object({
    scopes: z.array(z.string()).meta({ description: 'Every scope that was allowed.' }),
    resource_scopes: z
      .record(z.string(), z.array(z.string()))
      .meta({ description: 'The scopes by API resource (identifier); under the empty name those without one.' }),
    authorization_details: z
      .array(z.record(z.string(), z.unknown()))
      .meta({ description: 'Details (RFC 9396) that the user is not asked about again.' }),
    granted_at: isoTime,
    ...stamps,
  }),
  computed: { created_at: (row) => row.granted_at, authorization_details: (row) => row.authorization_details.map(({ detail }) => detail) },
  reach: { of: reachOfOwner },
  relationships: { user: toOne('user', 'Who allowed it.'), client: toOne('client', 'Whom it was allowed.') },
  filters: {
    user: byIndex(equalTo('user_id', uuid, 'Of one of these users (ids).')),
    client: byIndex(equalTo('client_id', boundedText(512), 'For one of these clients (ids).')),
    scope: holding('scopes', boundedText(255), 'Holds one of these scopes.'),
    granted_at: timeRange('granted_at', 'When it was first allowed.'),
  },
  sorts: indexed({
    created_at: { expression: 'consents.granted_at', type: 'timestamptz' },
    granted_at: { expression: 'consents.granted_at', type: 'timestamptz' },
    updated_at: { expression: 'consents.updated_at', type: 'timestamptz' },
  }),
  remove: { run: async (tx, _actor, row) => void (await withdrawConsent(tx, row.user_id, row.client_id)), audit: 'withdrawn' },
  display: (row) => row.client_id,
});
