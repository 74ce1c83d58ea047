import { newStamps } from '../../db/records.js';
import { findApiResource, listKnownIdentifiers, type ApiResourceRow } from '../../db/tables/api_resources.js';
import {
  deleteClientGrant,
  insertClientGrant,
  updateClientGrant,
  type ClientGrantRow,
  type SubjectType,
  type TokenExchange,
} from '../../db/tables/client_grants.js';
import { findClient, type ClientRow } from '../../db/tables/clients.js';
import { listPermissionsOfResource } from '../../db/tables/permissions.js';
import { isSelfRegistered } from '../clients/rules.js';
import type { Context } from '../context.js';
import { invalidValue, type Problem, Refusal, refuseDuplicates, refuseIfAny, unfit, unfitRelationship } from '../refusal.js';

const duplicates = {
  client_grants_one_of_each_subject_type: {
    relationship: 'api_resource',
    detail: 'The client has a grant of this subject_type for this API resource already.',
  },
};

async function checkScopes(tx: Context, resource: ApiResourceRow, scopes: readonly string[]): Promise<void> {
  const known = new Set((await listPermissionsOfResource(tx.scope, resource.id)).map((permission) => permission.name));
  const unknown = scopes.flatMap((scope, index): Problem[] => {
    const detail = `"${scope}" is not a permission of this API resource.`;
    return known.has(scope) ? [] : [unfit(['scopes', index], 'unknown_scope', detail)];
  });
  refuseIfAny(unknown);
}

/** What can be set of a policy to exchange people's tokens. */
type ExchangeInput = { token_exchange?: TokenExchange; subject_audiences?: string[]; assertions?: boolean };

/** Problems of a policy to exchange tokens (RFC 8693), as it is to be. */
async function checkExchange(
  tx: Context,
  { subject_type, token_exchange = 'none', subject_audiences = [], assertions = false }: ExchangeInput & { subject_type: SubjectType },
  isSystem: boolean,
  isPublic: boolean,
): Promise<void> {
  const off = token_exchange === 'none';
  const known = new Set(await listKnownIdentifiers(tx.scope, subject_audiences));
  refuseIfAny([
    ...(!off && subject_type !== 'user'
      ? [invalidValue('token_exchange', 'Only a grant of subject_type user exchanges people’s tokens.')]
      : []),
    ...(!off && isSystem ? [invalidValue('token_exchange', 'No token is exchanged for one of the Management API.')] : []),
    ...(!off && isPublic ? [invalidValue('token_exchange', 'A public client can not keep a secret, and exchanges nothing.')] : []),
    ...(assertions && subject_type !== 'user' ? [invalidValue('assertions', 'Only a grant of subject_type user is about people.')] : []),
    ...(assertions && isSystem ? [invalidValue('assertions', 'No assertion is redeemed for a token of the Management API.')] : []),
    ...(off && subject_audiences.length > 0 ? [invalidValue('subject_audiences', 'Without token_exchange no token is brought.')] : []),
    ...subject_audiences.flatMap((identifier, index) =>
      known.has(identifier)
        ? []
        : [invalidValue(['subject_audiences', index], `"${identifier}" is not the identifier of an API resource.`)],
    ),
  ]);
}

/**
 * Lets a client have scopes of a resource for itself (`client`), or ask people for them (`user`), which a public client may too.
 * @throws {Refusal} 409, 422
 */
export async function createClientGrant(
  tx: Context,
  input: { scopes: string[]; subject_type?: SubjectType } & ExchangeInput,
  client: ClientRow,
  resource: ApiResourceRow,
): Promise<ClientGrantRow> {
  const { subject_type = 'client', scopes, ...exchange } = input;
  if (subject_type === 'client' && client.token_endpoint_auth_method === 'none') {
    throw new Refusal(
      unfitRelationship(
        'client',
        'public_client',
        'A public client can not act for itself (RFC 6749 4.4); a grant of subject_type user says what it may ask people for.',
      ),
    );
  }
  if (resource.is_system && isSelfRegistered(client)) {
    throw new Refusal(
      unfitRelationship(
        'client',
        'self_registered_client',
        'A client that registered itself can change itself, and so may not act at the Management API.',
      ),
    );
  }
  await checkScopes(tx, resource, scopes);
  await checkExchange(tx, { ...exchange, subject_type }, resource.is_system, client.token_endpoint_auth_method === 'none');
  const row = { ...exchange, scopes, subject_type, client_id: client.id, api_resource_id: resource.id, ...newStamps(tx.clock.now()) };
  return refuseDuplicates(duplicates, () => insertClientGrant(tx.scope, row));
}

/** Changes which scopes the grant holds, and what it says of token exchange. @throws {Refusal} 404, 422 */
export async function changeClientGrant(
  tx: Context,
  grant: ClientGrantRow,
  input: { scopes?: string[] } & ExchangeInput,
): Promise<ClientGrantRow> {
  const resource = await findApiResource(tx.scope, grant.api_resource_id);
  if (resource && input.scopes) await checkScopes(tx, resource, input.scopes);
  if (input.token_exchange !== undefined || input.subject_audiences !== undefined || input.assertions !== undefined) {
    const client = await findClient(tx.scope, grant.client_id);
    await checkExchange(tx, { ...grant, ...input }, resource?.is_system ?? false, client?.token_endpoint_auth_method === 'none');
  }
  const changed = await updateClientGrant(tx.scope, grant.id, { ...input, updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such grant.' });
  return changed;
}

export async function removeClientGrant(tx: Context, grant: ClientGrantRow): Promise<void> {
  await deleteClientGrant(tx.scope, grant.id);
}
