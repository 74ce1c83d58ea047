import { z } from 'zod';
import {
  acceptMetadata,
  changeConnection,
  connectionInputProblems,
  createConnection,
  removeConnection,
  type ConnectionInput,
} from '../../domain/connections/settings.js';
import { strategyNames } from '../../domain/connections/strategies.js';
import { callbackUrl, connectionLoginUrl, connectionTestUrl, samlEntityId, signalsUrl } from '../../domain/connections/connections.js';
import { reachOfConnection, removedWithConnection } from '../../domain/reach/reach-of.js';
import type { OrganizationRow } from '../../db/tables/organizations.js';
import {
  assertionClients,
  assertionReuses,
  connectionAssertions,
  connectionSecondFactors,
  connectionSignals,
  listDomainsOfConnections,
  type ConnectionRow,
} from '../../db/tables/connections.js';
import { equalTo, searchFilter, shownName, stamps, stampSorts, boundedText, textSort, uniqueTexts, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

const strategy = z.enum(strategyNames as [string, ...string[]]);
const status = z.enum(['enabled', 'disabled']);
const linking = z.enum(['verified_email', 'ask', 'never']);
const sync = z.enum(['never', 'on_create', 'on_login']);
const requiredHere = z.boolean().meta({
  description:
    'Addresses of `domains` sign in through this connection alone: neither with a password, nor through another one. Takes every Management permission.',
});
const domainsHere = uniqueTexts(z.string().min(1).max(253), 200).meta({
  description:
    'The domains that its provider speaks for. An address elsewhere is never verified by its word, and registers nobody (`sso_domain_not_allowed`). To add one takes every Management permission; so does keeping them when `strategy`, `issuer`, an endpoint, `provider_client_id` or `claim_mapping` change: otherwise they are emptied. Of an organization’s connection: the verified ones of the organization, which are set there.',
});
const trusted = z.boolean().meta({
  description:
    'Whether what it says of people counts as ours, in its `domains` or, without any, in all that no other connection lists: their addresses are verified, `verified_email` links them, and new ones get default roles that hold Management permissions. true when a holder of every Management permission makes the connection; taken away when anybody else changes the provider, or opens it to new people.',
});
const secondFactor = z.enum(connectionSecondFactors).meta({
  description:
    'What follows a sign-in through it: `own`: the second step that would follow a password; `asserted`: none where the provider says that it took one (`mfa` in `amr`, or an `acr` of `trusted_acr_values`); `provider`: never one, and the sign-in is of the lowest class. For people whose address is in its `domains` or, without any, in none that another connection lists; for anybody else it is `own`. Anything but `own`, and every change from there, takes every Management permission.',
});
const trustedAcrs = uniqueTexts(boundedText(255), 50).meta({
  description:
    'With `second_factor` `asserted`: values of the provider’s `acr` that stand for a second factor; `phr` and `phrh` for a phishing-resistant one.',
});
const name = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$/, 'must be a slug: lower-case letters, digits, inner hyphens and underscores');
const url = z.string().min(1).max(2048).nullable();
const claim = z.string().min(1).max(200);
const claimMapping = z
  .record(z.string().max(100), z.union([claim, z.array(claim).min(1).max(10)]))
  .refine((mapping) => Object.keys(mapping).length <= 50, {
    message: 'must not name more than 50 attributes',
    params: { code: 'too_long' },
  });

export const connections = resource<ConnectionRow, ConnectionInput, ConnectionInput>({
  type: 'connection',
  path: 'connections',
  description: 'Ways to sign in through a provider. Saving one does not need the provider to be reachable.',
  organization: { column: 'organization_id', most: 50 },
  attributes: z.object({
    has_client_secret: z.boolean(),
    has_signals_token: z.boolean(),
    generation: z.number().int().meta({
      description:
        'Rises when strategy, issuer, an endpoint, provider_client_id or claim_mapping changes. Identities of an earlier one sign nobody in until the person proves the account again.',
    }),
    callback_url: z.string().meta({ description: 'To be registered with the provider.' }),
    login_url: z.string().meta({ description: 'Where a login through it begins.' }),
    signals_url: z.string().meta({ description: 'Where the provider sends its signals.' }),
    metadata_url: z.string().nullable().meta({ description: 'Of `saml`: our metadata, whose address is our entity ID. Else null.' }),
    ...stamps,
  }),
  completed: async ({ scope }, rows) => {
    const ids = rows.filter(({ organization_id }) => organization_id !== null).map(({ id }) => id);
    const found = ids.length === 0 ? [] : await listDomainsOfConnections(scope, ids);
    const domains = new Map(found.map((one) => [one.id, one.domains]));
    return rows.map((row) => ({ ...row, domains: domains.get(row.id) ?? row.domains }));
  },
  computed: {
    has_client_secret: (row) => row.provider_client_secret_sealed !== null,
    has_signals_token: (row) => row.signals_token_sealed !== null,
    signals_url: (row, ctx) => signalsUrl(ctx.environment, row),
    callback_url: (row, ctx) => callbackUrl(ctx.environment, row),
    metadata_url: (row, ctx) => (row.strategy === 'saml' ? samlEntityId(ctx.environment, row) : null),
    login_url: (row, ctx) => connectionLoginUrl(ctx.environment, row),
  },
  reach: { of: reachOfConnection, removed: removedWithConnection },
  settable: {
    name: ['plain', name, 'needed and fixed'],
    display_name: ['plain', shownName(100), 'needed'],
    // Whatever decides who somebody is who comes through it voids its links, and so takes their way in from the people linked.
    strategy: ['control', strategy, 'needed and fixed'],
    provider_client_id: [
      'control',
      boundedText(500).meta({ description: 'What the provider calls us. Needed, but with `saml`, which has none.' }),
    ],
    status: ['control', status],
    provider_client_secret: [
      'control',
      z.string().min(1).max(8192).nullable().meta({
        writeOnly: true,
        description:
          'Sealed; never shown. null takes it away. A change of `issuer` or `token_endpoint` that would send it to another server says it anew: 422 without.',
      }),
    ],
    issuer: ['control', url],
    authorization_endpoint: ['control', url],
    token_endpoint: ['control', url],
    userinfo_endpoint: ['control', url],
    jwks_uri: ['control', url],
    scopes: ['control', uniqueTexts(z.string().min(1).max(200), 50)],
    claim_mapping: ['control', claimMapping],
    options: ['control', z.record(z.string().max(100), z.unknown())],
    allow_registration: ['reach', z.boolean()],
    account_linking: ['reach', linking],
    profile_sync: ['control', sync],
    domains: ['control', domainsHere],
    required: ['everything', requiredHere],
    trusted: ['reach', trusted],
    // Whose word stands for a second step reaches whoever comes through it.
    second_factor: ['control', secondFactor],
    trusted_acr_values: ['control', trustedAcrs],
    assertions: ['control', z.enum(connectionAssertions)],
    assertion_issuer: ['control', url],
    assertion_jwks_uri: ['control', url],
    assertion_tenant: ['control', boundedText(255).nullable()],
    assertion_reuse: ['control', z.enum(assertionReuses)],
    assertion_clients: ['control', z.enum(assertionClients)],
    token_storage: ['control', z.boolean()],
    signals: ['control', z.enum(connectionSignals)],
    signals_issuer: ['control', url],
    signals_audience: ['control', boundedText(2048).nullable()],
    signals_poll_url: ['control', url],
    signals_token: [
      'control',
      z.string().min(1).max(8192).nullable().meta({
        writeOnly: true,
        description:
          'With which signals are fetched, or the service keeps a stream of them at the transmitter (SSF 1.0 8.1.1), where no `signals_poll_url` is fetched (`Bearer`). Sealed; never shown. null takes it away. Another server says it anew: 422 without.',
      }),
    ],
  },
  relationships: {
    organization: toOne(
      'organization',
      'Whose connection it is: then its `domains` are the verified ones of the organization, for which alone it speaks, and only who signs in for the organization is offered it. null = the environment’s.',
      { create: 'optional' },
    ),
  },
  filters: {
    organization: equalTo('organization_id', uuid, 'Of one of these organizations (ids).'),
    name: equalTo('name', boundedText(63), 'The exact name.'),
    strategy: equalTo('strategy', strategy, 'Of one of these strategies.'),
    status: equalTo('status', status, 'Enabled or disabled.'),
    search: searchFilter(['connections.name', 'connections.display_name'], 'Name or display name'),
  },
  sorts: { ...stampSorts('connections'), name: textSort('connections.name'), display_name: textSort('connections.display_name') },
  create: {
    problems: (ctx, input) => connectionInputProblems(ctx, input, null),
    run: async (tx, actor, input, related) => ({
      row: await createConnection(tx, actor, input, (related['organization'] ?? null) as unknown as OrganizationRow | null),
    }),
  },
  update: {
    problems: (ctx, input, row) => connectionInputProblems(ctx, input, row),
    run: async (tx, actor, row, input) => ({ row: await changeConnection(tx, actor, row, input) }),
  },
  remove: { run: (tx, actor, row) => removeConnection(tx, actor, row) },
  actions: {
    accept_metadata: {
      method: 'PATCH',
      description:
        'Of `saml` with `idp_metadata_url`: takes over another entity ID, or another host that people are sent to, which the metadata tells of by now. 409 when nothing waits.',
      audit: 'metadata_accepted',
      touch: 'control',
      run: async (tx, actor, row) => ({ row: await acceptMetadata(tx, actor, row) }),
    },
    test: {
      method: 'POST',
      description:
        'Answers an address where a login can be tried out; it changes nothing and works for an hour. Whom it would sign in, and what the provider says of the person, it shows only to who asks with `users:read`.',
      audit: 'tested',
      touch: 'plain',
      meta: z.object({ login_url: z.string() }),
      run: async (tx, actor, row) => ({ row, meta: { login_url: connectionTestUrl(tx, actor, row) } }),
    },
  },
  display: (row) => row.name,
});
