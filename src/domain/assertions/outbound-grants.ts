import { newStamps } from '../../db/records.js';
import type { ClientRow } from '../../db/tables/clients.js';
import type { ExternalServerRow } from '../../db/tables/external_servers.js';
import { deleteOutboundGrant, insertOutboundGrant, updateOutboundGrant, type OutboundGrantRow } from '../../db/tables/outbound_grants.js';
import type { Context } from '../context.js';
import { type Problem, Refusal, refuseIfAny, unfit, unfitRelationship } from '../refusal.js';

/** What can be set of a grant for a server outside. */
export type OutboundGrantInput = Partial<
  Pick<
    OutboundGrantRow,
    'resources' | 'scopes' | 'authorization_details_types' | 'external_client_id' | 'required_acr' | 'max_authentication_age' | 'status'
  >
>;

type Named = { readonly id: string } | null | undefined;

/** For whom it is, as far as a request said; undefined: as it was. */
export type ForWhom = { readonly organization?: Named; readonly organization_group?: Named; readonly role?: Named };

const idOf = (named: Named) => (named === undefined ? undefined : (named?.id ?? null));

function columnsOf({ organization, organization_group, role }: ForWhom): Partial<OutboundGrantRow> {
  const ids = { organization_id: idOf(organization), organization_group_id: idOf(organization_group), role_id: idOf(role) };
  return Object.fromEntries(Object.entries(ids).filter(([, id]) => id !== undefined));
}

/** A client that is known by its document is called by its address, wherever; any other has a name at the server. */
const nameless = (origin: ClientRow['origin'], external_client_id: string | null | undefined): Problem[] =>
  external_client_id || origin === 'metadata_document'
    ? []
    : [
        unfit(
          'external_client_id',
          'required',
          'Say what the external server calls the client: only clients of metadata documents have the same name everywhere.',
        ),
      ];

/** Lets a client have identity assertions of people for a server outside. @throws {Refusal} 422 */
export async function createOutboundGrant(
  tx: Context,
  input: OutboundGrantInput,
  { client, external_server, ...whom }: ForWhom & { readonly client: ClientRow; readonly external_server: Pick<ExternalServerRow, 'id'> },
): Promise<OutboundGrantRow> {
  refuseIfAny(nameless(client.origin, input.external_client_id));
  if (client.token_endpoint_auth_method === 'none')
    throw new Refusal(
      unfitRelationship('client', 'public_client', 'A public client gets no assertions: it can not prove who it is (RFC 8693 2.1).'),
    );
  return insertOutboundGrant(tx.scope, {
    ...input,
    ...columnsOf(whom),
    client_id: client.id,
    external_server_id: external_server.id,
    ...newStamps(tx.clock.now()),
  });
}

/** @throws {Refusal} 404, 422 */
export async function changeOutboundGrant(
  tx: Context,
  grant: OutboundGrantRow,
  input: OutboundGrantInput,
  whom: ForWhom,
): Promise<OutboundGrantRow> {
  if (input.external_client_id === null && grant.external_client_id !== null) refuseIfAny(nameless('administrator', null));
  const changed = await updateOutboundGrant(tx.scope, grant.id, { ...input, ...columnsOf(whom), updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such grant.' });
  return changed;
}

export async function removeOutboundGrant(tx: Context, { id }: Pick<OutboundGrantRow, 'id'>): Promise<void> {
  await deleteOutboundGrant(tx.scope, id);
}
