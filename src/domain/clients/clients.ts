import {
  findApiResource,
  findApiResourceByCanonical,
  findApiResourceByIdentifier,
  type ApiResourceRow,
} from '../../db/tables/api_resources.js';
import { findClientGrant, type ClientGrantRow, type SubjectType } from '../../db/tables/client_grants.js';
import { findClient, findClientByEntityId, type ClientRow } from '../../db/tables/clients.js';
import { listDetailTypesOfResource, type AuthorizationDetailTypeRow } from '../../db/tables/authorization_detail_types.js';
import { listPermissionsOfResource } from '../../db/tables/permissions.js';
import { digest, equalDigests } from '../../lib/digest.js';
import { isUuid } from '../../lib/random.js';
import { canonicalResource } from '../../lib/resource-identifier.js';
import { mayAgain } from './pause.js';
import { mayStay } from './admission.js';
import { remembered, type Context } from '../context.js';
import { isOpenidScope } from '../claims/scopes.js';
import { takesTokensOf } from './profile.js';

export type Client = ClientRow;

export type ApiResource = ApiResourceRow & {
  readonly permissions: readonly string[];
  /** Of permissions whose names others had before: scopes of what was issued before, in milliseconds, are of those. */
  readonly permissions_not_before: ReadonlyMap<string, number>;
  /** What may be asked for at it beyond scopes (RFC 9396), by name. */
  readonly detail_types: ReadonlyMap<string, AuthorizationDetailTypeRow>;
};

/** RFC 6749 appendix A.1, but no space in front: other keys of the cache begin with one. */
const clientIdShape = /^[\x21-\x7e][\x20-\x7e]{0,511}$/;

const nobody = Promise.resolve(null);

/** The client, remembered until it changes; a disabled one too, the caller decides. */
export function clientOf(ctx: Context, client_id: string): Promise<Client | null> {
  if (!clientIdShape.test(client_id)) return nobody;
  return remembered(ctx, 'clients', client_id, ({ scope }) => findClient(scope, client_id));
}

/** The enabled SAML service provider of the entity ID, remembered until it changes; else null. */
export async function samlClientOf(ctx: Context, entity_id: string): Promise<Client | null> {
  const client = await remembered(ctx, 'clients', ` entity ${entity_id}`, ({ scope }) => findClientByEntityId(scope, entity_id));
  return client?.status === 'enabled' ? client : null;
}

/** The client as this process remembers it, right or not: for what is only told, without a statement. Undefined when it remembers none. */
export const lastKnownClient = (ctx: Pick<Context, 'cache' | 'environment'>, client_id: string): Client | undefined =>
  ctx.cache.recallPublic<Client>(ctx.environment.id, 'clients', client_id, Infinity)?.value;

/** The client if it is enabled and, where it came by a document, there still is one that describes it, and such may be here; else null. */
export async function enabledClient(ctx: Context, client_id: string): Promise<Client | null> {
  const client = await clientOf(ctx, client_id);
  return client?.status === 'enabled' && client.document_ended_at === null && mayStay(ctx.environment, client) ? client : null;
}

/** The resource with the names of its permissions and its types of authorization details. */
async function completeResource({ scope }: Context, row: ApiResourceRow | null): Promise<ApiResource | null> {
  if (!row) return null;
  const permissions = await listPermissionsOfResource(scope, row.id);
  const later = permissions.flatMap(({ name, tokens_not_before }): [string, number][] =>
    tokens_not_before === null ? [] : [[name, tokens_not_before.getTime()]],
  );
  const enabled = (await listDetailTypesOfResource(scope, row.id)).filter(({ status }) => status === 'enabled');
  return {
    ...row,
    permissions: permissions.map((permission) => permission.name),
    permissions_not_before: new Map(later),
    detail_types: new Map(enabled.map((type) => [type.name, type])),
  };
}

/** RFC 8707 2: an absolute URI. Other keys of the cache begin with a space. */
const identifierShape = /^[a-z][\x21-\x7e]{1,2047}$/i;

/** The resource of the identifier with its permissions, remembered until one of them changes. */
export function apiResourceOf(ctx: Context, identifier: string): Promise<ApiResource | null> {
  if (!identifierShape.test(identifier)) return nobody;
  return remembered(ctx, 'api_resources', identifier, async (shared) =>
    completeResource(shared, await findApiResourceByIdentifier(shared.scope, identifier)),
  );
}

/**
 * The resource that a request names with `resource`: the one that is named so exactly, else the one that bears the same name in another spelling. What is
 * issued for it bears the registered identifier.
 */
export async function namedResource(ctx: Context, named: string): Promise<ApiResource | null> {
  const exact = await apiResourceOf(ctx, named);
  if (exact || !identifierShape.test(named)) return exact;
  const canonical = canonicalResource(named);
  return remembered(ctx, 'api_resources', ` canonical ${canonical}`, async (shared) =>
    completeResource(shared, await findApiResourceByCanonical(shared.scope, canonical)),
  );
}

/** The resource of the id, remembered as well. */
export async function apiResourceById(ctx: Context, id: string): Promise<ApiResource | null> {
  if (!isUuid(id)) return null;
  return remembered(ctx, 'api_resources', ` id ${id}`, async (shared) => completeResource(shared, await findApiResource(shared.scope, id)));
}

/** What the client may have of the resource for itself (`client`), or may ask people for (`user`); remembered until a grant changes. */
export const clientGrantOf = (
  ctx: Context,
  client_id: string,
  resource: ApiResource,
  subject_type: SubjectType,
): Promise<ClientGrantRow | null> =>
  remembered(ctx, 'client_grants', `${subject_type} ${resource.id} ${client_id}`, ({ scope }) =>
    findClientGrant(scope, client_id, resource.id, subject_type),
  );

/** Whether any client may ask people for tokens of the resource. Never so for the Management API, whatever its row says. */
const isOpenToAll = (resource: ApiResource): boolean => resource.user_access === 'open' && !resource.is_system;

/** Whether an unverified client may have tokens of the resource: where that says so, of the Management API never. */
export const letsIn = (client: Pick<Client, 'verified'>, resource: ApiResource): boolean =>
  client.verified || (resource.allow_unverified_clients && !resource.is_system);

/**
 * The scopes of the resource that the client may ask people for: all of a resource that is open, else those of its grant of type `user`.
 * Null when people's tokens for the resource don't reach this client at all.
 */
export async function askableScopes(ctx: Context, client: Client, resource: ApiResource): Promise<readonly string[] | null> {
  if (!letsIn(client, resource)) return null;
  if (isOpenToAll(resource)) return resource.permissions;
  const grant = await clientGrantOf(ctx, client.id, resource, 'user');
  return grant && resource.permissions.filter((permission) => grant.scopes.includes(permission));
}

/**
 * The scopes of the resource that the client may have for people whose tokens it brings (RFC 8693): those of its grant of type `user`. Null without such a
 * grant, for tokens that its profile rules out, and for the Management API, whose tokens people hand out themselves.
 */
export async function exchangeableScopes(
  ctx: Context,
  client: Client,
  resource: ApiResource,
): Promise<{ readonly grant: ClientGrantRow; readonly scopes: readonly string[] } | null> {
  const isOut = resource.is_system || !letsIn(client, resource) || !takesTokensOf(client, resource);
  const grant = isOut ? null : await clientGrantOf(ctx, client.id, resource, 'user');
  return grant && { grant, scopes: grant.scopes.filter((scope) => resource.permissions.includes(scope)) };
}

/** The scopes without those of the resource that the client may not ask people for; scopes of OpenID Connect and others stay. */
export const withoutUnaskable = (resource: ApiResource, askable: readonly string[], scopes: readonly string[]): string[] =>
  scopes.filter((scope) => askable.includes(scope) || isOpenidScope(scope) || !resource.permissions.includes(scope));

const emptyDigest = digest('');

function matches(client: Client | null, presented: Buffer, now: Date): boolean {
  const current = equalDigests(presented, client?.secret_digest ?? emptyDigest) && client?.secret_digest != null;
  const earlier = equalDigests(presented, client?.previous_secret_digest ?? emptyDigest) && client?.previous_secret_digest != null;
  const stillLive = client?.previous_secret_expires_at != null && client.previous_secret_expires_at > now;
  return current || (earlier && stillLive);
}

const rereadPauseMs = 1_000;

/**
 * The client of the id, and whether it is enabled and the secret is its own. A secret that doesn't fit what is remembered is compared once more
 * with the row itself, so that a secret rotated on another replica a moment ago works at once; at most once a second per
 * client, lest guesses become statements.
 */
export async function clientBySecret(ctx: Context, client_id: string, secret: string): Promise<{ client: Client | null; proven: boolean }> {
  const presented = digest(secret);
  const now = ctx.clock.now();
  let client = await clientOf(ctx, client_id);
  if (client && !matches(client, presented, now) && (await mayAgain(ctx, `secret ${client_id}`, rereadPauseMs))) {
    ctx.cache.forget(ctx.environment.id, 'clients', client_id);
    client = await clientOf(ctx, client_id);
  }
  const known = matches(client, presented, now);
  return { client, proven: known && client?.status === 'enabled' };
}
