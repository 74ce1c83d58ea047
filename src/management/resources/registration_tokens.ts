import { z } from 'zod';
import { createRegistrationToken, type RegistrationTokenInput } from '../../domain/clients/registration-tokens.js';
import { noReach } from '../../domain/reach/reach.js';
import { deleteRegistrationToken, type RegistrationTokenRow } from '../../db/tables/registration_tokens.js';
import { grants } from '../../oauth/grants/index.js';
import { isoTime, searchFilter, shownName, stamps, stampSorts, textSort, uniqueTexts } from '../fields.js';
import { resource } from '../resource.js';
import { environmentLink } from './environment-link.js';
import { scopeToken } from './permissions.js';

const grantType = z.enum(Object.keys(grants) as [string, ...string[]]);

/** Initial access tokens, with which clients register themselves. */
export const registration_tokens = resource<RegistrationTokenRow, RegistrationTokenInput>({
  type: 'registration_token',
  path: 'registration_tokens',
  title: 'Registration tokens',
  description: 'Initial access tokens (RFC 7591): whoever has one may register clients, within its ceilings.',
  source: { table: 'registration_tokens', key: 'id', keyType: 'uuid' },
  attributes: z.object({
    name: z.string().meta({ description: 'For administrators: whom it is for.' }),
    expires_at: isoTime.meta({ description: 'Until when it works; 30 days unless given, at most a year.' }),
    max_uses: z.int().nullable().meta({ description: 'How many clients may register with it; 1 unless given, null = any number.' }),
    use_count: z.int().meta({ description: 'How many have.' }),
    grant_types: z.array(z.string()).meta({ description: 'The grant types that its clients may have; those of sign-in unless given.' }),
    scopes: z.array(z.string()).nullable().meta({ description: 'The scopes that its clients may ask for; null = whatever is on offer.' }),
    verified: z.boolean().meta({ description: 'Whether its clients are verified: you vouch for whoever has it.' }),
    ...stamps,
  }),
  // Nothing that registers itself comes to the Management API, whatever its token says.
  reach: {
    of: () => noReach,
    attributes: { name: 'plain', expires_at: 'plain', max_uses: 'plain', grant_types: 'plain', scopes: 'plain', verified: 'plain' },
  },
  relationships: { environment: environmentLink },
  filters: { search: searchFilter(['lower(registration_tokens.name)'], 'Name begins with this.') },
  sorts: { ...stampSorts('registration_tokens'), name: textSort('registration_tokens.name') },
  create: {
    schema: z.strictObject({
      name: shownName(100),
      expires_at: isoTime.optional(),
      max_uses: z.int().min(1).max(1_000_000).nullable().optional(),
      grant_types: uniqueTexts(grantType, 10).optional(),
      scopes: uniqueTexts(scopeToken, 200).nullable().optional(),
      verified: z.boolean().optional(),
    }),
    once: z.object({ token: z.string().meta({ description: 'Shown by this answer only.' }) }),
    run: async (tx, _actor, input) => {
      const { row, token } = await createRegistrationToken(tx, input);
      return { row, once: { token } };
    },
  },
  remove: { run: (tx, _actor, row) => deleteRegistrationToken(tx.scope, row.id) },
  display: (row) => row.name,
});
