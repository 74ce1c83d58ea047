import { z } from 'zod';
import { createInitialAccessToken, type InitialAccessTokenInput } from '../../domain/clients/initial-access-tokens.js';
import { noReach } from '../../domain/reach/reach.js';
import { deleteInitialAccessToken, type InitialAccessTokenRow } from '../../db/tables/registration_tokens.js';
import { grants } from '../../oauth/grants/index.js';
import { isoTime, searchFilter, shownName, stamps, stampSorts, textSort, uniqueTexts } from '../fields.js';
import { resource } from '../declaration.js';
import { scopeToken } from './permissions.js';

const grantType = z.enum(Object.keys(grants) as [string, ...string[]]);

export const registration_tokens = resource<InitialAccessTokenRow, InitialAccessTokenInput>({
  type: 'registration_token',
  path: 'registration_tokens',
  description: 'Initial access tokens (RFC 7591): whoever has one may register clients, within its ceilings.',
  attributes: z.object({ use_count: z.int().meta({ description: 'How many have.' }), ...stamps }),
  // Nothing that registers itself comes to the Management API, whatever its token says.
  reach: { of: () => noReach },
  settable: {
    name: ['plain', shownName(100), 'needed'],
    expires_at: ['plain', isoTime],
    max_uses: ['plain', z.int().min(1).max(1_000_000).nullable()],
    grant_types: ['plain', uniqueTexts(grantType, 10)],
    scopes: ['plain', uniqueTexts(scopeToken, 200).nullable()],
    verified: ['plain', z.boolean()],
  },
  filters: { search: searchFilter(['registration_tokens.name'], 'The name') },
  sorts: { ...stampSorts('registration_tokens'), name: textSort('registration_tokens.name') },
  create: {
    once: z.object({ token: z.string().meta({ description: 'Shown by this answer only.' }) }),
    run: async (tx, _actor, input) => {
      const { row, token } = await createInitialAccessToken(tx, input);
      return { row, once: { token } };
    },
  },
  remove: { run: (tx, _actor, row) => deleteInitialAccessToken(tx.scope, row.id) },
  display: (row) => row.name,
});
