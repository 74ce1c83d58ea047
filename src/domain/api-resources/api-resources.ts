import { newStamps } from '../../db/records.js';
import {
  deleteApiResource,
  findApiResourceByCanonical,
  insertApiResource,
  updateApiResource,
  type ApiResourceRow,
} from '../../db/tables/api_resources.js';
import { isDeletedName, noteDeletedName } from '../../db/tables/deleted_names.js';
import { deleteAuthorizationCodes } from '../../db/tables/authorization_codes.js';
import { insertPermissions } from '../../db/tables/permissions.js';
import { removeSubjectAudience } from '../../db/tables/client_grants.js';
import { removeResourceFromConsents } from '../../db/tables/consents.js';
import { deleteDeviceCodes } from '../../db/tables/device_codes.js';
import { deletePushedRequestsForResource } from '../../db/tables/pushed_requests.js';
import { endRedeemedAt } from '../../db/tables/revocations.js';
import { canonicalResource } from '../../lib/resource-identifier.js';
import { namesakeProblems } from '../clients/names.js';
import type { Context } from '../context.js';
import { isOwnAddress } from '../environment.js';
import { invalidValue, type Problem, Refusal, refuseDuplicates, refuseIfAny, systemRecord, unfit } from '../refusal.js';
import { signalsAudience, signalsPermissions, signalsTokenLifetime } from '../../lib/signals-api.js';
import { requireSigningAlgorithms } from '../signing-keys/algorithms.js';
import { claimMappingProblems } from '../claims/claim-mappings.js';

export type ApiResourceInput = Partial<
  Pick<
    ApiResourceRow,
    | 'identifier' | 'name' | 'token_format' | 'access_token_lifetime' | 'user_access' | 'token_typ' | 'user_scopes' | 'claim_mappings'
    | 'signing_alg' | 'required_acr' | 'max_authentication_age' | 'dpop_bound_access_tokens'
    | 'allow_unverified_clients' | 'default_scopes' | 'documentation_url' | 'assertion_access' | 'agent_claims'
  >
>; // prettier-ignore

type Surroundings = Pick<Context, 'environment'>;

/** Its own addresses are the audience of its own endpoints: a token for an API that bears one would be taken for theirs. */
function identifierProblems({ environment }: Surroundings, identifier: string): Problem[] {
  if (identifier === environment.management_audience || !isOwnAddress(environment, identifier)) return [];
  const detail = `${identifier} is an address of this service, and tokens for it are for this service: choose an identifier of the API's own.`;
  return [unfit('identifier', 'reserved_name', detail)];
}

/** What speaks against the attributes of an API resource: an identifier is nobody else's, and its claim mappings are of its access tokens alone. */
export const apiResourceInputProblems = (ctx: Surroundings, { identifier, claim_mappings = [] }: ApiResourceInput): Problem[] => [
  ...(identifier === undefined ? [] : identifierProblems(ctx, identifier)),
  ...claimMappingProblems(claim_mappings, ['access_token']),
];

/** Whoever loses the grant to signals can use a token for an hour at most. */
function signalsProblems(ctx: Surroundings, identifier: string, { access_token_lifetime = 0 }: ApiResourceInput): Problem[] {
  if (identifier !== signalsAudience(ctx.environment) || access_token_lifetime <= signalsTokenLifetime) return [];
  const detail = `Tokens for signals live ${signalsTokenLifetime} seconds at most.`;
  return [invalidValue('access_token_lifetime', detail)];
}

const duplicates = {
  api_resources_environment_id_identifier_key: {
    attribute: 'identifier',
    detail: 'There is an API resource with this identifier already.',
  },
};

/** Requests name a resource in any spelling of its identifier: a second one that differs in nothing else would be taken for it. @throws {Refusal} 409 */
async function refuseSameName(tx: Context, identifier: string): Promise<void> {
  const same = await findApiResourceByCanonical(tx.scope, canonicalResource(identifier));
  if (!same || same.identifier === identifier) return;
  const detail = `There is the API resource ${same.identifier} already, which is the same name in another spelling.`;
  throw new Refusal({ status: 409, code: 'already_exists', detail, attribute: 'identifier' });
}

/** Makes an API resource (RFC 8707); its lifetime is the environment's default unless given. @throws {Refusal} 409, 422 */
export async function createApiResource(tx: Context, input: ApiResourceInput): Promise<ApiResourceRow> {
  const { identifier = '' } = input;
  refuseIfAny([...apiResourceInputProblems(tx, input), ...signalsProblems(tx, identifier, input)]);
  await requireSigningAlgorithms(tx, { signing_alg: input.signing_alg });
  await refuseSameName(tx, identifier);
  refuseIfAny(await namesakeProblems(tx, identifier));
  const now = tx.clock.now();
  const tokens_not_before = (await isDeletedName(tx.scope, 'api_resource', identifier)) ? now : null;
  const isSignals = identifier === signalsAudience(tx.environment);
  const usual = tx.environment.default_access_token_lifetime;
  const access_token_lifetime = input.access_token_lifetime ?? (isSignals ? Math.min(usual, signalsTokenLifetime) : usual);
  const made = await refuseDuplicates(duplicates, () =>
    insertApiResource(tx.scope, { ...input, access_token_lifetime, tokens_not_before, ...newStamps(now) }),
  );
  if (isSignals) await insertSignalsPermissions(tx, made.id);
  return made;
}

/** The permissions of the API of signals come with it. */
const insertSignalsPermissions = (tx: Context, api_resource_id: string) =>
  insertPermissions(
    tx.scope,
    Object.entries(signalsPermissions).map(([name, description]) => {
      return { api_resource_id, name, description, ...newStamps(tx.clock.now()) };
    }),
  );

/**
 * Changes an API resource; tokens issued before keep what they say, but people's tokens stop working at clients that are no longer let in.
 * The Management API keeps its name and is never open to all clients. @throws {Refusal} 403
 */
export async function changeApiResource(tx: Context, resource: ApiResourceRow, input: ApiResourceInput): Promise<ApiResourceRow> {
  refuseIfAny([...apiResourceInputProblems(tx, input), ...signalsProblems(tx, resource.identifier, input)]);
  await requireSigningAlgorithms(tx, { signing_alg: input.signing_alg });
  if (resource.is_system && input.name !== undefined && input.name !== resource.name)
    throw systemRecord('The Management API keeps its name.');
  if (resource.is_system && input.user_access === 'open')
    throw systemRecord("People's permissions of the Management API reach only clients with a grant.");
  if (resource.is_system && input.allow_unverified_clients === true)
    throw systemRecord('Unverified clients never get access to the Management API.');
  if (resource.is_system && input.assertion_access !== undefined && input.assertion_access !== 'off')
    throw systemRecord('No assertion is redeemed for a token of the Management API.');
  const changed = await updateApiResource(tx.scope, resource.id, { ...input, updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such API resource.' });
  if (changed.assertion_access !== 'verified' && changed.assertion_access !== resource.assertion_access)
    await endRedeemedAt(tx.scope, changed);
  return changed;
}

/**
 * Frees the identifier that a resource had: what was issued or allowed under it, or waits for it, is over, and nothing of it is another one's that bears it
 * later. Call it in a transaction.
 */
export async function freeIdentifier(tx: Context, identifier: string): Promise<void> {
  const now = tx.clock.now();
  await noteDeletedName(tx.scope, 'api_resource', identifier, now);
  await deletePushedRequestsForResource(tx.scope, identifier);
  await deleteAuthorizationCodes(tx.scope, { resource: identifier });
  await deleteDeviceCodes(tx.scope, { resource: identifier });
  await removeResourceFromConsents(tx.scope, identifier, now);
  await removeSubjectAudience(tx.scope, identifier, now);
}

/**
 * Deletes an API resource with its permissions and grants, and all that was issued or allowed for it. @throws {Refusal} 409 for the Management API itself
 */
export async function removeApiResource(tx: Context, resource: ApiResourceRow): Promise<void> {
  if (resource.is_system) throw new Refusal({ status: 409, code: 'system_record', detail: 'The Management API can not be deleted.' });
  await deleteApiResource(tx.scope, resource.id);
  await freeIdentifier(tx, resource.identifier);
}
