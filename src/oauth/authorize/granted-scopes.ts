import { askableScopes, withoutUnaskable, type ApiResource, type Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { isOpenidScope } from '../../domain/tokens/scopes.js';
import { isHeldOnly, type Target } from '../../domain/tokens/target.js';
import { listPermissionNamesOfUser } from '../../db/tables/permissions.js';
import type { AuthorizationRequest } from './request.js';

/** What the resource says is granted where none of its scopes was asked for. */
function defaultScopes(client: Client, asked: readonly string[], target: Target | null): readonly string[] {
  if (target === null || asked.some((scope) => target.resource.permissions.includes(scope))) return [];
  const { default_scopes, permissions } = target.resource;
  return default_scopes.filter((scope) => permissions.includes(scope) && client.scopes?.includes(scope) !== false);
}

/** What of the asked scopes is granted; one that nobody here knows, or the client may not ask for, is left out, as RFC 6749 3.3 allows. */
export function grantedScopes(client: Client, asked: readonly string[], target: Target | null): string[] {
  const known = [...asked, ...defaultScopes(client, asked, target)].filter((scope) => {
    if (scope === 'offline_access') return client.grant_types.includes('refresh_token');
    return isOpenidScope(scope) || target?.resource.permissions.includes(scope) === true || client.scopes?.includes(scope) === true;
  });
  return target === null ? known : withoutUnaskable(target.resource, target.askable, known);
}

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
