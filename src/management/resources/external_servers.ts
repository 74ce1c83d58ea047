import { z } from 'zod';
import type { ClientRow } from '../../db/tables/clients.js';
import { assertionTenants, type ExternalServerRow } from '../../db/tables/external_servers.js';
import {
  changeExternalServer, createExternalServer, externalServerProblems, removeExternalServer, type ExternalServerInput,
} from '../../domain/assertions/external-servers.js'; // prettier-ignore
import { actsForPeople } from '../../domain/reach/reach-of.js';
import { isResourceIdentifier } from '../../lib/resource-identifier.js';
import { signingAlgorithms } from '../../lib/signing-algorithm.js';
import { boundedText, equalTo, lifetime, searchFilter, shownName, stamps, stampSorts, textSort, uniqueTexts, webUrl } from '../fields.js';
import { resource } from '../declaration.js';
import { toMany, toOne } from '../links.js';
import type { RelatedRows } from '../resource.js';
import { scopeToken } from './permissions.js';

const status = z.enum(['enabled', 'disabled']);

const resources = z
  .array(
    z.strictObject({
      identifier: z
        .string()
        .min(1)
        .max(2048)
        .refine(isResourceIdentifier, {
          message: 'must be an absolute URI without fragment (RFC 8707 2)',
          params: { code: 'invalid_identifier' },
        }),
      scopes: uniqueTexts(scopeToken, 100).min(1),
    }),
  )
  .min(1)
  .max(50)
  .meta({ description: 'The APIs behind it, as `resource` names them (RFC 8707), each with the scopes that assertions for it may hold.' });

const signInClient = (related: RelatedRows) => ({ sign_in_client: related['sign_in_client'] as unknown as ClientRow | null | undefined });

export const external_servers = resource<ExternalServerRow, ExternalServerInput, ExternalServerInput>({
  type: 'external_server',
  path: 'external_servers',
  description:
    'Authorization servers outside that take identity assertions of this environment (ID-JAG): what clients may have of them, and for whom, outbound grants say.',
  attributes: z.object(stamps),
  reach: { of: actsForPeople },
  settable: {
    name: ['plain', shownName(100), 'needed'],
    issuer: ['control', webUrl, 'needed'],
    audiences: ['control', uniqueTexts(webUrl, 10)],
    resources: ['control', resources, 'needed'],
    include_email: ['control', z.boolean()],
    tenant: ['control', z.enum(assertionTenants)],
    aud_tenant: ['control', boundedText(255).nullable()],
    lifetime: ['control', lifetime(60, 600)],
    signing_alg: ['control', z.enum(signingAlgorithms)],
    require_proof: ['control', z.boolean()],
    status: ['control', status],
  },
  relationships: {
    sign_in_client: toOne(
      'client',
      'Its client here, by which it signs people in: assertions name them as that is told of them. null = none.',
      { column: 'sign_in_client_id', create: 'optional', later: 'control' },
    ),
    outbound_grants: toMany('outbound_grant', 'external_server_id', 'Who may have what of it.'),
  },
  filters: {
    status: equalTo('status', status, 'Enabled or disabled.'),
    search: searchFilter(['external_servers.name', 'external_servers.issuer'], 'Name or issuer'),
  },
  sorts: { ...stampSorts('external_servers'), name: textSort('external_servers.name') },
  create: {
    problems: (ctx, input) => externalServerProblems(ctx, input),
    run: async (tx, _actor, input, related) => ({ row: await createExternalServer(tx, input, signInClient(related)) }),
  },
  update: {
    problems: (ctx, input) => externalServerProblems(ctx, input),
    run: async (tx, _actor, row, input, related) => ({ row: await changeExternalServer(tx, row, input, signInClient(related)) }),
  },
  remove: { run: (tx, _actor, row) => removeExternalServer(tx, row) },
  display: (server) => server.name,
});
