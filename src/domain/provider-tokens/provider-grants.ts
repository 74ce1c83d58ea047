import { newStamps } from '../../db/records.js';
import type { ClientRow } from '../../db/tables/clients.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import { deleteProviderGrant, insertProviderGrant, updateProviderGrant, type ProviderGrantRow } from '../../db/tables/provider_grants.js';
import type { Context } from '../context.js';
import { type Problem, Refusal, refuseDuplicates, refuseIfAny, unfitRelationship } from '../refusal.js';

/** What can be set of a grant for tokens at a provider. */
export type ProviderGrantInput = Partial<Pick<ProviderGrantRow, 'scopes' | 'status'>>;

const duplicates = {
  provider_grants_one_of_each: { relationship: 'connection', detail: 'The client has a grant for this connection already.' },
};

/** Lets a client have tokens of people at a connection's provider. @throws {Refusal} 409, 422 */
export async function createProviderGrant(
  tx: Context,
  { scopes = [], ...input }: ProviderGrantInput,
  { client, connection }: { readonly client: ClientRow; readonly connection: ConnectionRow },
): Promise<ProviderGrantRow> {
  const isPublic = client.token_endpoint_auth_method === 'none';
  const problems: Problem[] = [
    ...(isPublic ? [unfitRelationship('client', 'public_client', 'A public client exchanges nothing (RFC 8693 2.1).')] : []),
    ...(connection.token_storage
      ? []
      : [unfitRelationship('connection', 'invalid_value', 'The connection keeps no tokens (token_storage).')]),
  ];
  refuseIfAny(problems);
  const row = { ...input, scopes, client_id: client.id, connection_id: connection.id, ...newStamps(tx.clock.now()) };
  return refuseDuplicates(duplicates, () => insertProviderGrant(tx.scope, row));
}

/** Changes it; one that allows less ends the tokens that the client has. @throws {Refusal} 404 */
export async function changeProviderGrant(tx: Context, { id }: ProviderGrantRow, input: ProviderGrantInput): Promise<ProviderGrantRow> {
  const changed = await updateProviderGrant(tx.scope, id, { ...input, updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such grant.' });
  return changed;
}

export async function removeProviderGrant(tx: Context, { id }: Pick<ProviderGrantRow, 'id'>): Promise<void> {
  await deleteProviderGrant(tx.scope, id);
}
