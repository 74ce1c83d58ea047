import { z } from 'zod';
import { changeClientConnections, replaceClientConnections } from '../../domain/clients/connections.js';
import { changeClient, clientInputProblems, registerClient, removeClient, rotateClientSecret } from '../../domain/clients/registration.js';
import type { ClientInput } from '../../domain/clients/rules.js';
import { clientAuthMethods } from '../../http/auth/authenticate-client.js';
import { publicKeySet } from '../../domain/clients/key-set.js';
import { reachOfClient } from '../../domain/reach/reach-of.js';
import { addClientConnections } from '../../db/tables/client_connections.js';
import { idTokenClaims, type ClientRow } from '../../db/tables/clients.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import { grants } from '../../oauth/grants/index.js';
import {
  equalTo,
  flag,
  lifetime,
  linked,
  searchFilter,
  shownName,
  stamps,
  stampSorts,
  boundedText,
  textSort,
  isoTime,
  timeRange,
  uniqueTexts,
  webUrl,
} from '../fields.js';
import { signingAlgorithms } from '../../lib/signing-algorithm.js';
import { resource, type RelatedRows } from '../resource.js';
import { claimMappings } from './claim-mappings.js';
import { environmentLink } from './environment-link.js';
import { scopeToken } from './permissions.js';

const uri = z.string().min(1).max(2048);
const grantType = z.enum(Object.keys(grants) as [string, ...string[]]);
const applicationType = z.enum(['web', 'spa', 'native', 'machine']);
const authMethod = z.enum(clientAuthMethods);
const day = 86_400;

const firstParty =
  'Whether it skips the consent page. Changed, like all that decides who acts with such a client, by holders of every Management permission; true for what people sign in to when one of them makes it without a word.';

const idTokenContent =
  '`protocol`: the ID token holds protocol claims and what the `claims` parameter asks for there (OIDC Core 5.4); `profile`: what the scopes release as well.';
const mappings =
  'Claims under names of your own, in its ID tokens, at userinfo, and in access tokens whose API resource does not map the same claim. They need no scope.';
const pushesOnly = 'Whether it has to push its authorization requests (RFC 9126 6); the environment can demand it of all.';
const boundOnly =
  'Whether its tokens have to be bound to a key: the token endpoint then takes nothing without a DPoP proof (RFC 9449 5.2).';
const signedTokens = 'What its ID tokens and logout tokens are signed with: one of the `signing_algorithms` of the environment.';
const signedUserinfo =
  'Userinfo as a JWT signed so (OIDC Core 5.3.2), with one of the `signing_algorithms` of the environment; null = JSON.';
const initiation =
  'Where a sign-in begins that is started elsewhere (OIDC Core 4): https, or http on loopback. It is called with `iss`. null = nowhere.';

const settable = z
  .strictObject({
    description: boundedText(500, 0).nullable(),
    redirect_uris: uniqueTexts(uri, 100),
    post_logout_redirect_uris: uniqueTexts(uri, 100),
    allowed_origins: uniqueTexts(uri, 100),
    grant_types: uniqueTexts(grantType, 10).refine((list) => list.length > 0, {
      message: 'needs at least one',
      params: { code: 'too_short' },
    }),
    token_endpoint_auth_method: authMethod,
    jwks: publicKeySet.nullable() as unknown as z.ZodType<ClientRow['jwks']>,
    jwks_uri: uri.nullable(),
    scopes: uniqueTexts(scopeToken, 200).nullable(),
    access_token_format: z.enum(['jwt', 'opaque']),
    first_party: z.boolean().meta({ description: firstParty }),
    introspection_allowed: z.boolean(),
    require_pkce: z.boolean(),
    id_token_lifetime: lifetime(60, day).nullable(),
    refresh_token_lifetime: lifetime(60, 400 * day).nullable(),
    token_rate_limit: z.int().min(1).max(1_000_000).nullable(),
    backchannel_logout_uri: uri.nullable(),
    backchannel_logout_session_required: z.boolean(),
    initiate_login_uri: uri.nullable().meta({ description: initiation }),
    id_token_claims: z.enum(idTokenClaims).meta({ description: idTokenContent }),
    claim_mappings: claimMappings.meta({ description: mappings }),
    require_pushed_authorization_requests: z.boolean().meta({ description: pushesOnly }),
    dpop_bound_access_tokens: z.boolean().meta({ description: boundOnly }),
    id_token_signed_response_alg: z.enum(signingAlgorithms).meta({ description: signedTokens }),
    userinfo_signed_response_alg: z.enum(signingAlgorithms).nullable().meta({ description: signedUserinfo }),
    client_uri: webUrl.nullable(),
    logo_uri: webUrl.nullable(),
    policy_uri: webUrl.nullable(),
    tos_uri: webUrl.nullable(),
    contacts: uniqueTexts(boundedText(254), 20),
    status: z.enum(['enabled', 'disabled']),
  })
  .partial().shape;

const once = z.object({ client_secret: z.string().meta({ description: 'Shown by this answer only.' }) });

/** The connections that a document names, if it names any. */
const offered = (related: RelatedRows) => related['connections'] as unknown as readonly ConnectionRow[] | undefined;

/** Applications and services that get tokens. */
export const clients = resource<ClientRow, ClientInput, ClientInput>({
  type: 'client',
  path: 'clients',
  title: 'Clients',
  description: 'Applications and services that get tokens. The id is the client_id; names are those of RFC 7591.',
  source: { table: 'clients', key: 'id', keyType: 'text' },
  attributes: z.object({
    name: z.string(),
    description: z.string().nullable(),
    application_type: applicationType,
    redirect_uris: z.array(z.string()),
    post_logout_redirect_uris: z.array(z.string()),
    allowed_origins: z.array(z.string()),
    grant_types: z.array(z.string()),
    token_endpoint_auth_method: z.string(),
    jwks: z.looseObject({}).nullable(),
    jwks_uri: z.string().nullable(),
    scopes: z.array(z.string()).nullable(),
    access_token_format: z.enum(['jwt', 'opaque']),
    first_party: z.boolean().meta({ description: firstParty }),
    introspection_allowed: z.boolean(),
    require_pkce: z.boolean(),
    id_token_lifetime: z.int().nullable(),
    refresh_token_lifetime: z.int().nullable(),
    token_rate_limit: z.int().nullable(),
    backchannel_logout_uri: z.string().nullable(),
    backchannel_logout_session_required: z.boolean(),
    initiate_login_uri: z.string().nullable().meta({ description: initiation }),
    id_token_claims: z.enum(idTokenClaims).meta({ description: idTokenContent }),
    claim_mappings: claimMappings.meta({ description: mappings }),
    require_pushed_authorization_requests: z.boolean().meta({ description: pushesOnly }),
    dpop_bound_access_tokens: z.boolean().meta({ description: boundOnly }),
    id_token_signed_response_alg: z.enum(signingAlgorithms).meta({ description: signedTokens }),
    userinfo_signed_response_alg: z.enum(signingAlgorithms).nullable().meta({ description: signedUserinfo }),
    client_uri: z.string().nullable(),
    logo_uri: z.string().nullable(),
    policy_uri: z.string().nullable(),
    tos_uri: z.string().nullable(),
    contacts: z.array(z.string()),
    status: z.enum(['enabled', 'disabled']),
    is_system: z.boolean(),
    secret_hint: z.string().nullable().meta({ description: 'The last four characters of the secret; null = there is none.' }),
    secret_rotated_at: isoTime.nullable(),
    previous_secret_expires_at: isoTime.nullable(),
    last_used_at: isoTime.nullable().meta({ description: 'When it last authenticated, to the half minute; null = never.' }),
    ...stamps,
  }),
  reach: {
    of: reachOfClient,
    attributes: {
      name: 'plain',
      description: 'plain',
      application_type: 'control',
      redirect_uris: 'control',
      post_logout_redirect_uris: 'control',
      allowed_origins: 'control',
      grant_types: 'control',
      token_endpoint_auth_method: 'control',
      jwks: 'control',
      jwks_uri: 'control',
      scopes: 'control',
      access_token_format: 'control',
      first_party: 'reach and control',
      introspection_allowed: 'control',
      require_pkce: 'control',
      id_token_lifetime: 'control',
      refresh_token_lifetime: 'control',
      token_rate_limit: 'plain',
      backchannel_logout_uri: 'control',
      backchannel_logout_session_required: 'control',
      // Where its people are sent, and what it, or whoever holds its secret, is told of them without their being asked.
      initiate_login_uri: 'control',
      id_token_claims: 'control',
      claim_mappings: 'reach and control',
      require_pushed_authorization_requests: 'control',
      dpop_bound_access_tokens: 'control',
      id_token_signed_response_alg: 'control',
      userinfo_signed_response_alg: 'control',
      client_uri: 'plain',
      logo_uri: 'plain',
      policy_uri: 'plain',
      tos_uri: 'plain',
      contacts: 'plain',
      status: 'control',
    },
  },
  relationships: {
    client_grants: {
      kind: 'many',
      to: 'client_grant',
      by: { foreign: 'client_id' },
      description: 'What it may do for itself, and what it may ask people for.',
      include: true,
    },
    connections: {
      kind: 'many',
      to: 'connection',
      by: { table: 'client_connections', near: 'client_id', far: 'connection_id' },
      description: 'The connections that it offers at sign-in; none = all that are enabled.',
      include: true,
      write: true,
      change: {
        touch: 'control',
        add: async (tx, _actor, row, found) =>
          void (await changeClientConnections(tx, row as ClientRow, { add: found as ConnectionRow[], remove: [] })),
        remove: async (tx, _actor, row, found) =>
          void (await changeClientConnections(tx, row as ClientRow, { add: [], remove: found as ConnectionRow[] })),
        replace: async (tx, _actor, row, found) => void (await replaceClientConnections(tx, row as ClientRow, found as ConnectionRow[])),
      },
    },
    environment: environmentLink,
  },
  filters: {
    application_type: equalTo('application_type', applicationType, 'What kind of application.'),
    status: equalTo('status', z.enum(['enabled', 'disabled']), 'Enabled or disabled.'),
    first_party: flag('first_party', 'Whether it skips the consent page.'),
    connection: linked(
      { table: 'client_connections', near: 'client_id', far: 'connection_id' },
      'Was given one of these connections (ids).',
    ),
    search: searchFilter(['lower(found.name)', 'lower(found.id)'], 'Name or client_id begins with this.'),
    created_at: timeRange('created_at', 'When it was registered.'),
  },
  sorts: { ...stampSorts('clients'), name: textSort('clients.name') },
  create: {
    schema: z.strictObject({ name: shownName(100), application_type: applicationType.optional(), ...settable }),
    once,
    problems: (ctx, input) => clientInputProblems(ctx, input, null),
    async run(tx, actor, input, related) {
      const { client, client_secret } = await registerClient(tx, actor, input);
      await addClientConnections(tx.scope, client.id, offered(related)?.map(({ id }) => id) ?? []);
      return client_secret === null ? { row: client } : { row: client, once: { client_secret } };
    },
  },
  update: {
    schema: z.strictObject({ name: shownName(100).optional(), ...settable }),
    problems: (ctx, input, row) => clientInputProblems(ctx, input, row),
    async run(tx, _actor, row, input, related) {
      const [client, connections] = [await changeClient(tx, row, input), offered(related)];
      return { row: connections ? await replaceClientConnections(tx, client, connections) : client };
    },
  },
  remove: { run: (tx, _actor, row) => removeClient(tx, row) },
  actions: {
    rotate_secret: {
      method: 'PATCH',
      description: 'Makes a new secret. The one until now works for another 24 hours.',
      audit: 'secret_rotated',
      touch: 'control',
      once,
      async run(tx, _actor, row) {
        const { client, client_secret } = await rotateClientSecret(tx, row);
        return { row: client, once: { client_secret } };
      },
    },
  },
  display: (client) => client.name,
});
