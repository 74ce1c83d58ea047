import { z } from 'zod';
import type { ClientRow } from '../../db/tables/clients.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import type { ProviderGrantRow } from '../../db/tables/provider_grants.js';
import {
  changeProviderGrant, createProviderGrant, removeProviderGrant, type ProviderGrantInput,
} from '../../domain/provider-tokens/provider-grants.js'; // prettier-ignore
import { actsForPeople } from '../../domain/reach/reach-of.js';
import { boundedText, equalTo, stamps, uniqueTexts, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';
import { scopeToken } from './permissions.js';

const status = z.enum(['enabled', 'disabled']);

export const provider_grants = resource<ProviderGrantRow, ProviderGrantInput, ProviderGrantInput>({
  type: 'provider_grant',
  path: 'provider_grants',
  description: 'Which access tokens of people at a connection’s provider a client may have, by token exchange; the people are asked.',
  attributes: z.object(stamps),
  reach: { of: actsForPeople },
  settable: { scopes: ['control', uniqueTexts(scopeToken, 100).min(1), 'needed'], status: ['control', status] },
  relationships: {
    client: toOne('client', 'Who may.', { create: 'required' }),
    connection: toOne('connection', 'Whose provider; its `token_storage` is on.', { create: 'required' }),
  },
  filters: {
    client: equalTo('client_id', boundedText(512), 'Of one of these clients (ids).'),
    connection: equalTo('connection_id', uuid, 'For one of these connections (ids).'),
    status: equalTo('status', status, 'Enabled or disabled.'),
  },
  create: {
    async run(tx, _actor, input, related) {
      return { row: await createProviderGrant(tx, input, related as unknown as { client: ClientRow; connection: ConnectionRow }) };
    },
  },
  update: { run: async (tx, _actor, row, input) => ({ row: await changeProviderGrant(tx, row, input) }) },
  remove: { run: (tx, _actor, row) => removeProviderGrant(tx, row) },
  display: (grant) => grant.client_id,
});
