import type { Context } from '../../domain/context.js';
import { askableScopes, type ApiResource } from '../../domain/clients/clients.js';
import { isOpenidScope } from '../../domain/tokens/scopes.js';
import { isHeldOnly } from '../../domain/tokens/target.js';
import { listPermissionNamesOfUser } from '../../db/tables/permissions.js';
import type { AuthorizationRequest } from './request.js';

/** What of a request this is about. */
type Asking = Pick<AuthorizationRequest, 'client' | 'resource' | 'scopes'>;

/** What the client may have of what the person holds. */
async function grantable(ctx: Context, { client }: Asking, resource: ApiResource, held: readonly string[]): Promise<string[]> {
  const askable = (await askableScopes(ctx, client, resource)) ?? [];
  return held.filter((scope) => askable.includes(scope) && client.scopes?.includes(scope) !== false);
}

/**
 * The request without permissions that the person doesn't hold, where they would do nothing: at the Management API, and at API resources whose
 * `user_scopes` is `held`. They need neither be asked for nor be named in the token (RFC 6749 3.3: less than was asked, which the token response
 * tells). `held` without a scope of the resource asks for all that the person holds of it. Scopes of other API resources are theirs to judge.
 */
export async function withinRights<R extends Asking>(ctx: Context, request: R, session: { readonly user_id: string } | null): Promise<R> {
  const { resource, scopes } = request;
  if (session === null || resource === null || !(resource.is_system || isHeldOnly(resource))) return request;
  const held = await listPermissionNamesOfUser(ctx.scope, session.user_id, resource.identifier);
  const isOwn = (scope: string) => resource.permissions.includes(scope);
  const others = scopes.filter((scope) => !isOwn(scope));
  if (isHeldOnly(resource) && others.length === scopes.length)
    return { ...request, scopes: [...scopes, ...(await grantable(ctx, request, resource, held))] };
  const keeps = (scope: string) => isOpenidScope(scope) || held.includes(scope) || (!resource.is_system && !isOwn(scope));
  return { ...request, scopes: scopes.filter(keeps) };
}
