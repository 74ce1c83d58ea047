import { z } from 'zod';
import type { Problem } from '../../domain/refusal.js';
import { changeClientConnections, replaceClientConnections } from '../../domain/clients/connections.js';
import type { Actor } from '../../domain/actor.js';
import {
  changeClient,
  clientInputProblems,
  generateProfileKey,
  registerClient,
  rotateClientSecret,
  type ChosenCredentials,
  verifyClient,
} from '../../domain/clients/registration.js';
import { removeClient, revokeTokensOfClient } from '../../domain/clients/removal.js';
import type { NewSigningKey } from '../../domain/signing-keys/signing-keys.js';
import type { ClientInput } from '../../domain/clients/rules.js';
import type { Context } from '../../domain/context.js';
import { reachOfClient } from '../../domain/reach/reach-of.js';
import {
  addressProblems,
  documentProblems,
  readForRegistration,
  registerDocumentClient,
} from '../../oauth/metadata-documents/registration.js';
import { clientOrigins, type ClientRow } from '../../db/tables/clients.js';
import { addClientConnections } from '../../db/tables/client_connections.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import { equalTo, flag, linked, searchFilter, shownName, stampSorts, textSort, timeRange } from '../fields.js';
import { applicationType, clientAttributes, settableClientAttributes } from './client-attributes.js';
import { resource, type RelatedRows, type Written } from '../resource.js';
import { environmentLink } from './environment-link.js';

const once = z.object({ client_secret: z.string().meta({ description: 'Shown by this answer only.' }) });

/** The connections that a document names, if it names any. */
const offered = (related: RelatedRows) => related['connections'] as unknown as readonly ConnectionRow[] | undefined;

/** Registers a client with the connections that the document names; its id and secret are made unless they are given. */
export async function createClient(
  tx: Context,
  actor: Actor,
  input: ClientInput,
  related: RelatedRows,
  chosen: ChosenCredentials = {},
  key: NewSigningKey | null = null,
): Promise<Written<ClientRow>> {
  const { client, client_secret } = await registerClient(tx, actor, input, chosen, key);
  await addClientConnections(tx.scope, client.id, offered(related)?.map(({ id }) => id) ?? []);
  return client_secret === null ? { row: client } : { row: client, once: { client_secret } };
}

/** A new client is described by the document, or by the person who creates it. */
type ClientCreation = ClientInput & { readonly client_id_metadata_uri?: string };

const documentAddress = z.string().min(1).max(512).meta({
  description:
    'The address of a client ID metadata document, in place of all that the document says: the client is registered under it, and verified, before it comes.',
});

function creationProblems(ctx: Context, input: Partial<ClientCreation>): Problem[] {
  const { client_id_metadata_uri: address, ...said } = input;
  if (address !== undefined) return [...addressProblems(ctx, address), ...documentProblems(said, null)];
  const nameless = said.name === undefined;
  const detail = 'The attribute "name" is required.';
  return [
    ...clientInputProblems(ctx, said, null),
    ...(nameless ? [{ status: 422, code: 'required', detail, attribute: 'name' } as const] : []),
  ];
}

/** Applications and services that get tokens. */
export const clients = resource<ClientRow, ClientCreation, ClientInput>({
  type: 'client',
  path: 'clients',
  title: 'Clients',
  description: 'Applications and services that get tokens. The id is the client_id; names are those of RFC 7591.',
  source: { table: 'clients', key: 'id', keyType: 'text' },
  attributes: clientAttributes,
  computed: { client_id_metadata_uri: (row) => (row.origin === 'metadata_document' ? row.id : null) },
  reach: {
    of: reachOfClient,
    attributes: {
      // What people read beside what the client asks for, and where its links lead them.
      name: 'control',
      description: 'plain',
      application_type: 'control',
      client_id_metadata_uri: 'control',
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
      // Lowered, it keeps tokens from the client as `status` does.
      token_rate_limit: 'control',
      backchannel_logout_uri: 'control',
      backchannel_logout_session_required: 'control',
      // Where its people are sent, and what it, or whoever holds its secret, is told of them without their being asked.
      initiate_login_uri: 'control',
      id_token_claims: 'control',
      claim_mappings: 'reach and control',
      // It could name the resource itself.
      default_resource: 'control',
      // Its rules only narrow what the client may do; the key that it may add is the service's own.
      profile: 'control',
      require_pushed_authorization_requests: 'control',
      require_signed_request_object: 'control',
      dpop_bound_access_tokens: 'control',
      id_token_signed_response_alg: 'control',
      authorization_signed_response_alg: 'control',
      introspection_signed_response_alg: 'control',
      userinfo_signed_response_alg: 'control',
      // What guards its people’s sign-in.
      required_acr: 'control',
      max_authentication_age: 'control',
      // They speak on our pages in the application's name: whom people are told to write to, too.
      client_uri: 'control',
      logo_uri: 'control',
      policy_uri: 'control',
      tos_uri: 'control',
      contacts: 'control',
      branding: 'control',
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
    federated_credentials: {
      kind: 'many',
      to: 'federated_credential',
      by: { foreign: 'client_id' },
      description: 'Which workloads are the client without a secret.',
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
    origin: equalTo('origin', z.enum(clientOrigins), 'Where it comes from.'),
    verified: flag('verified', 'Whether an administrator vouches for it.'),
    first_party: flag('first_party', 'Whether it skips the consent page.'),
    connection: linked(
      { table: 'client_connections', near: 'client_id', far: 'connection_id' },
      'Was given one of these connections (ids).',
    ),
    search: searchFilter(['lower(clients.name)', 'lower(clients.id)'], 'Name or client_id begins with this.'),
    created_at: timeRange('created_at', 'When it was registered.'),
  },
  sorts: { ...stampSorts('clients'), name: textSort('clients.name') },
  create: {
    schema: z.strictObject({
      name: shownName(100).optional().meta({ description: 'Required, unless a metadata document says it.' }),
      client_id_metadata_uri: documentAddress.optional(),
      application_type: applicationType.optional(),
      ...settableClientAttributes,
    }),
    once,
    problems: creationProblems,
    prepare: async (ctx, _actor, { client_id_metadata_uri: address, ...input }) =>
      address === undefined ? generateProfileKey(ctx, input, null) : readForRegistration(ctx, address),
    async run(tx, actor, { client_id_metadata_uri: address, ...input }, related, prepared) {
      if (address === undefined) return createClient(tx, actor, input, related, {}, prepared as NewSigningKey | null);
      const row = await registerDocumentClient(tx, prepared as ClientRow, input);
      await addClientConnections(tx.scope, row.id, offered(related)?.map(({ id }) => id) ?? []);
      return { row };
    },
  },
  update: {
    schema: z.strictObject({ name: shownName(100).optional(), ...settableClientAttributes }),
    problems: (ctx, input, row) => [
      ...clientInputProblems(ctx, input, row),
      ...(row.origin === 'metadata_document' ? documentProblems(input, row) : []),
    ],
    prepare: (ctx, _actor, row, input) => generateProfileKey(ctx, input, row),
    async run(tx, _actor, row, input, related, key) {
      const [client, connections] = [await changeClient(tx, row, input, key as NewSigningKey | null), offered(related)];
      return { row: connections ? await replaceClientConnections(tx, client, connections) : client };
    },
  },
  remove: { run: (tx, _actor, row) => removeClient(tx, row) },
  actions: {
    verify: {
      method: 'PATCH',
      description: 'Vouches for a client that came by itself: people are no longer warned, and API resources let it in as any other.',
      audit: 'verified',
      touch: 'control',
      run: async (tx, _actor, row) => ({ row: await verifyClient(tx, row) }),
    },
    revoke_tokens: {
      method: 'PATCH',
      description:
        'Ends everything that was issued to the client until now: its access and refresh tokens, codes that wait, and the sessions of its devices; `tokens_not_before` says since when. Its credentials and the consents of people stay.',
      audit: 'tokens_revoked',
      touch: 'control',
      run: async (tx, _actor, row) => ({ row: await revokeTokensOfClient(tx, row) }),
    },
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
