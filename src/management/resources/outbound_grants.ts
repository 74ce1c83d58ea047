import { z } from 'zod';
import type { ClientRow } from '../../db/tables/clients.js';
import { requiredAcrs } from '../../db/tables/environments.js';
import type { ExternalServerRow } from '../../db/tables/external_servers.js';
import type { OutboundGrantRow } from '../../db/tables/outbound_grants.js';
import {
  changeOutboundGrant, createOutboundGrant, removeOutboundGrant, type ForWhom, type OutboundGrantInput,
} from '../../domain/assertions/outbound-grants.js'; // prettier-ignore
import { actsForPeople } from '../../domain/reach/reach-of.js';
import { boundedText, equalTo, lifetime, stamps, uniqueTexts, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';
import type { Relationship } from '../resource.js';
import { scopeToken } from './permissions.js';

const status = z.enum(['enabled', 'disabled']);

/** For whom; none: everybody. */
const whom = (to: string, column: 'organization_id' | 'organization_group_id' | 'role_id', description: string): Relationship => ({
  kind: 'one',
  to,
  column,
  description,
  include: true,
  create: 'optional',
  later: 'control',
});

export const outbound_grants = resource<OutboundGrantRow, OutboundGrantInput, OutboundGrantInput>({
  type: 'outbound_grant',
  path: 'outbound_grants',
  description:
    'Which identity assertions of people a client may have for an external server (ID-JAG), and of whom: of everybody, unless organization, group or role say otherwise; where several do, all have to fit.',
  attributes: z.object(stamps),
  reach: { of: actsForPeople },
  settable: {
    resources: ['control', uniqueTexts(boundedText(2048), 50).min(1).nullable()],
    scopes: ['control', uniqueTexts(scopeToken, 200).min(1).nullable()],
    authorization_details_types: ['control', uniqueTexts(scopeToken, 50)],
    external_client_id: ['control', boundedText(512).nullable()],
    required_acr: ['control', z.enum(requiredAcrs).nullable()],
    max_authentication_age: ['control', lifetime(0, 31_536_000).nullable()],
    status: ['control', status],
  },
  relationships: {
    client: toOne('client', 'Who may.', { create: 'required' }),
    external_server: toOne('external_server', 'Where.', { create: 'required' }),
    organization: whom('organization', 'organization_id', 'Members of this organization alone; null = anybody.'),
    organization_group: whom('organization_group', 'organization_group_id', 'Members of this group alone; null = anybody.'),
    role: whom('role', 'role_id', 'Holders of this role alone, in the environment or in an organization; null = anybody.'),
  },
  filters: {
    client: equalTo('client_id', boundedText(512), 'Of one of these clients (ids).'),
    external_server: equalTo('external_server_id', uuid, 'For one of these servers (ids).'),
    status: equalTo('status', status, 'Enabled or disabled.'),
  },
  create: {
    async run(tx, _actor, input, related) {
      const { client, external_server, ...others } = related as unknown as ForWhom & {
        client: ClientRow;
        external_server: ExternalServerRow;
      };
      return { row: await createOutboundGrant(tx, input, { ...others, client, external_server }) };
    },
  },
  update: { run: async (tx, _actor, row, input, related) => ({ row: await changeOutboundGrant(tx, row, input, related as unknown as ForWhom) }) }, // prettier-ignore
  remove: { run: (tx, _actor, row) => removeOutboundGrant(tx, row) },
  display: (grant) => grant.client_id,
});
