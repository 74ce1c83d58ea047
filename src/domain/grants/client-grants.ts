import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import { findApiResource } from '../../db/tables/api_resources.js';
import {
  deleteClientGrant,
  insertClientGrant,
  updateClientGrant,
  type ClientGrantRow,
  type SubjectType,
} from '../../db/tables/client_grants.js';
import type { ClientRow } from '../../db/tables/clients.js';
import { listPermissionsOfResource } from '../../db/tables/permissions.js';
import { uuidv7 } from '../../lib/random.js';
import { isSelfRegistered } from '../clients/rules.js';
import type { Context } from '../context.js';
import { Refusal, refuseDuplicates, refuseIfAny, type Problem } from '../refusal.js';

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
    return known.has(scope) ? [] : [{ status: 422, code: 'unknown_scope', detail, attribute: ['scopes', index] }];
  });
  refuseIfAny(unknown);
}

/**
 * Lets a client have scopes of a resource for itself (`client`), or ask people for them (`user`), which a public client may too.
 * @throws {Refusal} 409, 422
 */
export async function createClientGrant(
  tx: Context,
  input: { scopes: string[]; subject_type?: SubjectType },
  client: ClientRow,
  resource: ApiResourceRow,
): Promise<ClientGrantRow> {
  const { subject_type = 'client', scopes } = input;
  if (subject_type === 'client' && client.token_endpoint_auth_method === 'none') {
    throw new Refusal({
      status: 422,
      code: 'public_client',
      detail: 'A public client can not act for itself (RFC 6749 4.4); a grant of subject_type user says what it may ask people for.',
      relationship: 'client',
    });
  }
  if (resource.is_system && isSelfRegistered(client)) {
    throw new Refusal({
      status: 422,
      code: 'self_registered_client',
      detail: 'A client that registered itself can change itself, and so may not act at the Management API.',
      relationship: 'client',
    });
  }
  await checkScopes(tx, resource, scopes);
  const now = tx.clock.now();
  const row = {
    scopes,
    subject_type,
    id: uuidv7(now.getTime()),
    client_id: client.id,
    api_resource_id: resource.id,
    created_at: now,
    updated_at: now,
  };
  return refuseDuplicates(duplicates, () => insertClientGrant(tx.scope, row));
}

/** Changes which scopes the grant holds. @throws {Refusal} 404, 422 */
export async function changeClientGrant(tx: Context, grant: ClientGrantRow, input: { scopes?: string[] }): Promise<ClientGrantRow> {
  const resource = await findApiResource(tx.scope, grant.api_resource_id);
  if (resource && input.scopes) await checkScopes(tx, resource, input.scopes);
  const changed = await updateClientGrant(tx.scope, grant.id, { ...input, updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such grant.' });
  return changed;
}

/** Takes the grant away. */
export async function removeClientGrant(tx: Context, grant: ClientGrantRow): Promise<void> {
  await deleteClientGrant(tx.scope, grant.id);
}
