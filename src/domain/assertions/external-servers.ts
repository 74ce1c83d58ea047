import { newStamps } from '../../db/records.js';
import {
  deleteExternalServer,
  insertExternalServer,
  updateExternalServer,
  type ExternalServerRow,
} from '../../db/tables/external_servers.js';
import type { ClientRow } from '../../db/tables/clients.js';
import { canonicalResource } from '../../lib/resource-identifier.js';
import type { Context } from '../context.js';
import { ownOrigins } from '../environment.js';
import { type AtFault, type Problem, Refusal, refuseDuplicates, unfit } from '../refusal.js';
import { requireSigningAlgorithms } from '../signing-keys/algorithms.js';

/** What can be set of a server outside. */
export type ExternalServerInput = Partial<
  Pick<
    ExternalServerRow,
    | 'name' | 'issuer' | 'audiences' | 'resources' | 'include_email' | 'tenant' | 'aud_tenant' | 'lifetime' | 'signing_alg' | 'require_proof' | 'status'
  >
>; // prettier-ignore

const duplicates = { external_servers_issuer: { attribute: 'issuer', detail: 'There is an external server of this issuer already.' } };

const twice = (values: readonly string[]) => {
  const seen = values.map(canonicalResource);
  return seen.findIndex((one, at) => seen.indexOf(one) !== at);
};

/** Problems of what is to be set. */
export function externalServerProblems({ environment }: Pick<Context, 'environment'>, input: ExternalServerInput): Problem[] {
  const { issuer, resources = [], audiences = [] } = input;
  const wrong = (attribute: AtFault, detail: string): Problem => unfit(attribute, 'duplicate_value', detail);
  const same = twice(resources.map(({ identifier }) => identifier));
  const named = twice(audiences);
  const own: Problem = unfit('issuer', 'reserved_name', 'This environment takes no assertions of its own.');
  return [
    ...(same < 0 ? [] : [wrong(['resources', same], 'This is a resource before it, in another spelling.')]),
    ...(named < 0 ? [] : [wrong(['audiences', named], 'This is an audience before it, in another spelling.')]),
    ...(issuer !== undefined && ownOrigins(environment).some((one) => canonicalResource(one) === canonicalResource(issuer)) ? [own] : []),
  ];
}

/** A link that a request named: the client, null, or nothing of the kind. */
type SignIn = { readonly sign_in_client?: Pick<ClientRow, 'id'> | null | undefined };

const columnsOf = ({ sign_in_client }: SignIn): Partial<ExternalServerRow> =>
  sign_in_client === undefined ? {} : { sign_in_client_id: sign_in_client?.id ?? null };

/** @throws {Refusal} 409, 422 */
export async function createExternalServer(tx: Context, input: ExternalServerInput, link: SignIn): Promise<ExternalServerRow> {
  await requireSigningAlgorithms(tx, { signing_alg: input.signing_alg });
  const row = { ...input, ...columnsOf(link), ...newStamps(tx.clock.now()) };
  return refuseDuplicates(duplicates, () => insertExternalServer(tx.scope, row));
}

/** @throws {Refusal} 404, 409, 422 */
export async function changeExternalServer(
  tx: Context,
  { id }: Pick<ExternalServerRow, 'id'>,
  input: ExternalServerInput,
  link: SignIn,
): Promise<ExternalServerRow> {
  await requireSigningAlgorithms(tx, { signing_alg: input.signing_alg });
  const changes = { ...input, ...columnsOf(link), updated_at: tx.clock.now() };
  const changed = await refuseDuplicates(duplicates, () => updateExternalServer(tx.scope, id, changes));
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such external server.' });
  return changed;
}

/** Nobody gets assertions for the server any more: the grants for it go with it. */
export async function removeExternalServer(tx: Context, { id }: Pick<ExternalServerRow, 'id'>): Promise<void> {
  await deleteExternalServer(tx.scope, id);
}
