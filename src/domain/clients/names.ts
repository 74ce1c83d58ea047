import { findClient } from '../../db/tables/clients.js';
import { findClientIdUse } from '../../db/tables/deleted_names.js';
import { findUser } from '../../db/tables/users.js';
import { holdLock } from '../../db/scope.js';
import { isUuid } from '../../lib/random.js';
import { canonicalResource, isResourceIdentifier } from '../../lib/resource-identifier.js';
import type { Context } from '../context.js';
import { isOwnAddress } from '../environment.js';
import { invalidValue, type Problem, Refusal, unfit } from '../refusal.js';

/** Who gives a name that can be of a client and of an API resource waits for the others: neither sees what the other is about to store. */
const holdNames = (tx: Context) => holdLock(tx.scope, 'client ids and identifiers');

/** Why no client may have the id; null when one may. */
export async function clientIdProblem(ctx: Context, client_id: string): Promise<string | null> {
  if (isOwnAddress(ctx.environment, client_id))
    return 'is an address of this service, whose tokens and those for the client would have the same aud';
  const { deleted, identifier } = await findClientIdUse(ctx.scope, client_id, canonicalResource(client_id));
  if (identifier) return 'is the identifier of an API resource, whose tokens and those for the client would have the same aud';
  return deleted ? 'was of a client that was deleted, and is never used again' : null;
}

/** What speaks against a `client_id` that somebody chose. Call it in the transaction that stores the client. */
export async function chosenIdProblems(tx: Context, client_id: string): Promise<Problem[]> {
  if (isResourceIdentifier(client_id)) await holdNames(tx);
  const problem = await clientIdProblem(tx, client_id);
  if (problem === null) return [];
  return [unfit('client_id', 'reserved_name', `${client_id} ${problem}: choose another client_id.`)];
}

/**
 * What speaks against the identifier of an API resource that is the id of a client: an ID token for the client would be taken for an access token for the
 * API (RFC 9068 4). Call it in the transaction that stores the resource.
 */
export async function namesakeProblems(tx: Context, identifier: string): Promise<Problem[]> {
  await holdNames(tx);
  const client = (await findClient(tx.scope, identifier)) ?? (await findClient(tx.scope, canonicalResource(identifier)));
  if (client === null) return [];
  const detail = `${identifier} is the client_id of a client, and its ID tokens would have the same aud: choose an identifier of the API's own.`;
  return [unfit('identifier', 'reserved_name', detail)];
}

/** The UUID that PostgreSQL, Python or .NET read in a text: in any case, in braces, as a URN (RFC 9562 4), with other hyphens or none. */
const uuidIn = (text: string): string =>
  text
    .toLowerCase()
    .replace(/^urn:uuid:/, '')
    .replaceAll(/[{}()-]/g, '')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/**
 * The tokens of a client for itself have its id as `sub`: an API that goes by that must never take it for a person, however leniently it reads a UUID
 * (RFC 9700 4.15). @throws {Refusal} 422
 */
export async function refusePersonsId(tx: Context, client_id: string | undefined): Promise<void> {
  const id = uuidIn(client_id ?? '');
  if (!isUuid(id) || !(await findUser(tx.scope, id))) return;
  throw new Refusal(invalidValue('client_id', 'This is the id of a user; a client has one of its own.'));
}
