import { z } from 'zod';
import { endProviderToken, findProviderToken, type ProviderTokenRow } from '../../db/tables/provider_tokens.js';
import { reachOfOwner } from '../../domain/reach/reach-of.js';
import { boundedText, byIndex, equalTo, indexed, isoTime, stamps, stampSorts, timeRange, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

const status = z.enum(['live', 'lost']);

export const provider_tokens = resource<ProviderTokenRow>({
  type: 'provider_token',
  path: 'provider_tokens',
  permissions: 'users',
  description:
    'What clients have of people’s accounts at providers. They come about at sign-ins and on the page where a person allows it; the tokens themselves are never shown.',
  attributes: z.object({
    scopes: z.array(z.string()).meta({ description: 'What the provider granted.' }),
    status: status.meta({ description: '`lost`: ended here or at the provider; the person has to allow it once more.' }),
    granted_at: isoTime.meta({ description: 'When the provider granted it.' }),
    last_used_at: isoTime.nullable().meta({ description: 'When the client last got it, to the hour; null = never.' }),
    ...stamps,
  }),
  reach: { of: reachOfOwner },
  relationships: {
    user: toOne('user', 'Whose account at the provider it is of.'),
    client: toOne('client', 'Who gets it.'),
    connection: toOne('connection', 'Where the account is.'),
  },
  filters: {
    user: byIndex(equalTo('user_id', uuid, 'Of one of these users (ids).')),
    client: byIndex(equalTo('client_id', boundedText(512), 'Of one of these clients (ids).')),
    connection: byIndex(equalTo('connection_id', uuid, 'At one of these connections (ids).')),
    status: equalTo('status', status, 'Live or lost.'),
    granted_at: timeRange('granted_at', 'When it was granted.'),
  },
  sorts: indexed(stampSorts('provider_tokens')),
  actions: {
    revoke: {
      method: 'PATCH',
      description: 'Ends it here, and at the provider where that has a revocation endpoint (RFC 7009); once more changes nothing.',
      audit: 'revoked',
      touch: 'control',
      async run(tx, _actor, row) {
        await endProviderToken(tx.scope, { id: row.id, user_id: null, now: tx.clock.now() });
        return { row: (await findProviderToken(tx.scope, row.id)) ?? row };
      },
    },
  },
  display: (row) => row.client_id,
});
