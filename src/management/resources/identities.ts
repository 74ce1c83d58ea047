import { z } from 'zod';
import { unlinkIdentity } from '../../domain/connections/identities.js';
import { reachOfOwner } from '../../domain/reach/reach-of.js';
import { Refusal } from '../../domain/refusal.js';
import { visibleIdentities, type KnownIdentity } from '../../db/tables/identities.js';
import { matches } from '../../db/lists/conditions.js';
import { byIndex, equalTo, indexed, stamps, stampSorts, boundedText, isoTime, timeRange, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

export const identities = resource<KnownIdentity>({
  type: 'identity',
  path: 'identities',
  permissions: 'users',
  description:
    'Accounts at providers that sign users in, each known by its connection and subject. They come about when people sign in; deleting one parts it from the user.',
  source: { visible: visibleIdentities },
  attributes: z.object({
    subject: z.string().meta({ description: "The provider's id of the account." }),
    email: z.string().nullable().meta({ description: 'The address that the provider gave last; null = none.' }),
    proven: z.boolean().meta({
      description: 'false: the connection has changed since; the next sign-in through it asks for the proof of the local account first.',
    }),
    last_login_at: isoTime.nullable(),
    ...stamps,
  }),
  reach: { of: reachOfOwner },
  relationships: { user: toOne('user', 'Who signs in with it.'), connection: toOne('connection', 'Where the account is.') },
  filters: {
    user: byIndex(equalTo('user_id', uuid, 'Of one of these users (ids).')),
    connection: byIndex(equalTo('connection_id', uuid, 'At one of these connections (ids).')),
    subject: equalTo('subject', boundedText(255), "The provider's id of the account."),
    proven: {
      description: 'Whether it signs the user in.',
      schema: z.enum(['true', 'false']),
      condition: (_ctx, values) => matches('is_proven(identities) = any(?::boolean[])', [values]),
    },
    created_at: timeRange('created_at', 'When it was connected.'),
  },
  sorts: indexed(stampSorts('identities')),
  remove: {
    audit: 'unlinked',
    async run(tx, _actor, row) {
      const outcome = await unlinkIdentity(tx, { user_id: row.user_id, identity_id: row.id });
      if (outcome !== 'last_way_in') return;
      const detail = 'The user has no password and no other usable identity; this is the only way to sign in.';
      throw new Refusal({ status: 409, code: 'last_way_in', detail });
    },
  },
  display: (row) => row.email ?? row.subject,
});
