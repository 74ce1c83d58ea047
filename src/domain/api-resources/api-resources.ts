import { deleteApiResource, insertApiResource, updateApiResource, type ApiResourceRow } from '../../db/tables/api_resources.js';
import { uuidv7 } from '../../lib/random.js';
import type { Context } from '../context.js';
import { Refusal, refuseDuplicates, refuseIfAny, systemRecord, type Problem } from '../refusal.js';
import { claimMappingProblems } from '../tokens/claim-mappings.js';

export type ApiResourceInput = Partial<
  Pick<
    ApiResourceRow,
    | 'identifier' | 'name' | 'token_format' | 'access_token_lifetime' | 'user_access' | 'token_typ' | 'user_scopes' | 'claim_mappings'
    | 'required_acr' | 'max_authentication_age'
  >
>; // prettier-ignore

/** What speaks against the claim mappings of an API resource: they are of its access tokens alone. */
export const apiResourceInputProblems = ({ claim_mappings = [] }: ApiResourceInput): Problem[] =>
  claimMappingProblems(claim_mappings, ['access_token']);

const duplicates = {
  api_resources_environment_id_identifier_key: {
    attribute: 'identifier',
    detail: 'There is an API resource with this identifier already.',
  },
};

/** Makes an API resource (RFC 8707); its lifetime is the environment's default unless given. @throws {Refusal} 409 */
export async function createApiResource(tx: Context, input: ApiResourceInput): Promise<ApiResourceRow> {
  refuseIfAny(apiResourceInputProblems(input));
  const now = tx.clock.now();
  const access_token_lifetime = input.access_token_lifetime ?? tx.environment.default_access_token_lifetime;
  return refuseDuplicates(duplicates, () =>
    insertApiResource(tx.scope, { ...input, access_token_lifetime, id: uuidv7(now.getTime()), created_at: now, updated_at: now }),
  );
}

/**
 * Changes an API resource; tokens issued before keep what they say, but people's tokens stop working at clients that are no longer let in.
 * The Management API keeps its name and is never open to all clients. @throws {Refusal} 403
 */
export async function changeApiResource(tx: Context, resource: ApiResourceRow, input: ApiResourceInput): Promise<ApiResourceRow> {
  refuseIfAny(apiResourceInputProblems(input));
  if (resource.is_system && input.name !== undefined && input.name !== resource.name)
    throw systemRecord('The Management API keeps its name.');
  if (resource.is_system && input.user_access === 'open')
    throw systemRecord("People's permissions of the Management API reach only clients with a grant.");
  const changed = await updateApiResource(tx.scope, resource.id, { ...input, updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such API resource.' });
  return changed;
}

/** Deletes an API resource with its permissions, grants and opaque tokens. @throws {Refusal} 409 for the Management API itself */
export async function removeApiResource(tx: Context, resource: ApiResourceRow): Promise<void> {
  if (resource.is_system) throw new Refusal({ status: 409, code: 'system_record', detail: 'The Management API can not be deleted.' });
  await deleteApiResource(tx.scope, resource.id);
}
