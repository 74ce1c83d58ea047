import { z } from 'zod';
import { type Problem, unfit } from '../../domain/refusal.js';
import { changeClientConnections } from '../../domain/connections/client-connections.js';
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
import type { ClientInput, OwnedClientInput } from '../../domain/clients/rules.js';
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
import { equalTo, flagFilter, linked, searchFilter, shownName, stampSorts, textSort, timeRange } from '../fields.js';
import { applicationType, chosenClientId, clientAttributes, settableClientAttributes } from './client-attributes.js';
import { resource } from '../declaration.js';
import { toLinked, toMany, toOne } from '../links.js';
import type { RelatedRows, Written } from '../resource.js';

const once = z.object({ client_secret: z.string().meta({ description: 'Shown by this answer only.' }) });

/** The connections that a document names, if it names any. */
const offered = (related: RelatedRows) => related['connections'] as unknown as readonly ConnectionRow[] | undefined;

/** Who is to answer for it, if the document says. */
function ownerIn(related: RelatedRows): Pick<OwnedClientInput, 'owner_id'> {
  const owner = related['owner'] as { id: string } | null | undefined;
  return owner === undefined ? {} : { owner_id: owner?.id ?? null };
}

/** Registers a client with the connections that the document names; its id and secret are made unless they are given. */
export async function createClient(
  tx: Context,
  actor: Actor,
  input: ClientInput,
  related: RelatedRows,
  chosen: ChosenCredentials = {},
  key: NewSigningKey | null = null,
): Promise<Written<ClientRow>> {
  const { client, client_secret } = await registerClient(tx, actor, { ...input, ...ownerIn(related) }, chosen, key);
  await addClientConnections(tx.scope, client.id, offered(related)?.map(({ id }) => id) ?? []);
  return client_secret === null ? { row: client } : { row: client, once: { client_secret } };
}

/** A new client is described by the document, or by the person who creates it. */
type ClientCreation = ClientInput & Pick<ChosenCredentials, 'client_id'> & { readonly client_id_metadata_uri?: string };

const clientId = chosenClientId.meta({
  description:
    'The client_id, where it is chosen: 1 to 128 visible ASCII characters, but neither `.` nor `..`, nor the id of a user, nor that of a client that was deleted. Left out, it is made.',
});

const documentAddress = z.string().min(1).max(512).meta({
  description:
    'The address of a client ID metadata document, in place of all that the document says: the client is registered under it, and verified, before it comes.',
});

function creationProblems(ctx: Context, input: Partial<ClientCreation>): Problem[] {
  const { client_id_metadata_uri: address, ...sent } = input;
  const { client_id: _chosen, ...given } = sent;
  // The id of such a client is the address of its document.
  if (address !== undefined) return [...addressProblems(ctx, address), ...documentProblems(sent, null)];
  const nameless = given.name === undefined;
  const detail = 'The attribute "name" is required.';
  return [...clientInputProblems(ctx, given, null), ...(nameless ? [unfit('name', 'required', detail)] : [])];
}

/** What may call for a key of the profile's algorithm. */
const decideProfileKey = ['profile', 'id_token_signed_response_alg'];

export const clients = resource<ClientRow, ClientCreation, ClientInput>({
  type: 'client',
  path: 'clients',
  description: 'Applications and services that get tokens. The id is the client_id; names are those of RFC 7591.',
  source: { keyType: 'text' },
  attributes: clientAttributes,
  computed: { client_id_metadata_uri: (row) => (row.origin === 'metadata_document' ? row.id : null) },
  reach: { of: reachOfClient },
  // It is the id.
  hidden: ['client_id'],
  settable: {
    // What people read beside what the client asks for, and where its links lead them.
    name: ['control', shownName(100)],
    client_id: ['control', clientId, 'fixed'],
    client_id_metadata_uri: ['control', documentAddress, 'fixed'],
    application_type: ['control', applicationType, 'fixed'],
    ...settableClientAttributes,
  },
  relationships: {
    owner: toOne('user', 'Who answers for it, such as for an agent; null = nobody.', {
      column: 'owner_id',
      create: 'optional',
      later: 'control',
    }),
    client_grants: toMany('client_grant', 'client_id', 'What it may do for itself, and what it may ask people for.', { include: true }),
    outbound_grants: toMany('outbound_grant', 'client_id', 'Which identity assertions it may have for servers outside.'),
    provider_grants: toMany('provider_grant', 'client_id', 'Which tokens of people at providers it may have.'),
    federated_credentials: toMany('federated_credential', 'client_id', 'Which workloads are the client without a secret.', {
      include: true,
    }),
    connections: toLinked<ClientRow, ConnectionRow>(
      'connection',
      { table: 'client_connections', near: 'client_id' },
      'The connections that it offers at sign-in; none = all that are enabled.',
      (tx, _actor, row, change) => changeClientConnections(tx, row, change),
      { touch: 'control' },
    ),
  },
  filters: {
    application_type: equalTo('application_type', applicationType, 'What kind of application.'),
    status: equalTo('status', z.enum(['enabled', 'disabled']), 'Enabled or disabled.'),
    origin: equalTo('origin', z.enum(clientOrigins), 'Where it comes from.'),
    verified: flagFilter('verified', 'Whether an administrator has verified it.'),
    is_agent: flagFilter('is_agent', 'Whether it is an agent.'),
    first_party: flagFilter('first_party', 'Whether it skips the consent page.'),
    connection: linked(
      { table: 'client_connections', near: 'client_id', far: 'connection_id' },
      'Was given one of these connections (ids). Takes `connections:read` too.',
      'connections:read',
    ),
    search: searchFilter(['clients.name', 'clients.id'], 'Name or client_id'),
    created_at: timeRange('created_at', 'When it was registered.'),
  },
  sorts: { ...stampSorts('clients'), name: textSort('clients.name') },
  create: {
    once,
    problems: creationProblems,
    prepareFor: ['client_id_metadata_uri', ...decideProfileKey],
    prepare: async (ctx, _actor, { client_id_metadata_uri: address, client_id: _chosen, ...input }) =>
      address === undefined ? generateProfileKey(ctx, input, null) : readForRegistration(ctx, address),
    async run(tx, actor, { client_id_metadata_uri: address, client_id, ...input }, related, prepared) {
      const chosen = client_id === undefined ? {} : { client_id };
      if (address === undefined) return createClient(tx, actor, input, related, chosen, prepared as NewSigningKey | undefined);
      const row = await registerDocumentClient(tx, prepared as ClientRow, { ...input, ...ownerIn(related) });
      await addClientConnections(tx.scope, row.id, offered(related)?.map(({ id }) => id) ?? []);
      return { row };
    },
  },
  update: {
    problems: (ctx, input, row) => [
      ...clientInputProblems(ctx, input, row),
      ...(row.origin === 'metadata_document' ? documentProblems(input, row) : []),
    ],
    prepareFor: decideProfileKey,
    prepare: (ctx, _actor, row, input) => generateProfileKey(ctx, input, row),
    async run(tx, _actor, row, input, related, key) {
      const changes = { ...input, ...ownerIn(related) };
      const [client, connections] = [await changeClient(tx, row, changes, key as NewSigningKey | undefined), offered(related)];
      return { row: connections ? await changeClientConnections(tx, client, { replace: connections }) : client };
    },
  },
  remove: { run: removeClient },
  actions: {
    verify: {
      method: 'PATCH',
      description:
        'Marks a self-registered client as verified: people are no longer warned, and API resources let it in like other clients.',
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
