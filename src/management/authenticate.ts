import type { Request } from 'express';
import type { Actor } from '../domain/actor.js';
import { apiResourceOf, clientGrantOf } from '../domain/clients/clients.js';
import type { Context } from '../domain/context.js';
import { isClass } from '../domain/proofs/classes.js';
import { organizationPermissions } from '../domain/reach/management-permissions.js';
import { quotedValue } from '../domain/tokens/unusable-token.js';
import type { ActiveToken } from '../domain/tokens/active-token.js';
import { listPermissionNamesOfMember, listPermissionNamesOfUser } from '../db/tables/permissions.js';
import { authenticateToken, type PresentedToken } from '../http/auth/access-token.js';
import type { Web } from '../http/web.js';

async function heldPermissions(ctx: Context, token: ActiveToken): Promise<readonly string[]> {
  const { user_id, organization_id } = token;
  if (user_id !== null && organization_id !== null)
    return listPermissionNamesOfMember(ctx.scope, organization_id, user_id, ctx.environment.management_audience);
  return user_id === null ? permissionsOfClient(ctx, token.client.id) : permissionsOfUser(ctx, user_id);
}

/** The Management permissions that a person holds by roles. */
export const permissionsOfUser = (ctx: Context, user_id: string): Promise<readonly string[]> =>
  listPermissionNamesOfUser(ctx.scope, user_id, ctx.environment.management_audience);

/** Those that a client holds for itself. */
export async function permissionsOfClient(ctx: Context, client_id: string): Promise<readonly string[]> {
  const resource = await apiResourceOf(ctx, ctx.environment.management_audience);
  const grant = resource && (await clientGrantOf(ctx, client_id, resource, 'client'));
  return grant?.scopes ?? [];
}

/** Who sends a request of the Management API; `subject` is the `sub` of the access token. */
export type ApiCaller = {
  readonly actor: Actor;
  readonly subject: string;
  /** Who it is by now, by another context, for an answer that goes on. @throws {OAuthError} 401 */
  again(ctx: Context): Promise<ApiCaller>;
};

/**
 * Who sent the request: the access token must be good, and meant for this environment's Management API (RFC 6750, RFC 8707). The
 * permissions are those of the token that are still held, so that a withdrawn one is refused at once.
 * @throws {OAuthError} 401
 */
export async function authenticate(web: Web, req: Request): Promise<ApiCaller> {
  const presented = await authenticateToken(web, req);
  req.asking_client_id = presented.token.client.id;
  return callerOf(req.ctx, presented);
}

async function callerOf(ctx: Context, { token, user, invalid, again }: PresentedToken): Promise<ApiCaller> {
  const { management_audience } = ctx.environment;
  if (token.audience !== management_audience)
    throw invalid(`the access token is for ${quotedValue(token.audience)}; ask for resource=${management_audience}`);
  const held = new Set(await heldPermissions(ctx, token));
  const { organization_id } = token;
  const isBound = organization_id !== null;
  const counts = (scope: string) => held.has(scope) && (!isBound || organizationPermissions.includes(scope));
  const permissions = new Set(token.scope.split(' ').filter(counts));
  const actor: Actor =
    token.user_id === null
      ? { actor_kind: 'client', actor_id: token.client.id, display: token.client.name, permissions, acts_in_full: true }
      : {
          actor_kind: 'user',
          actor_id: token.user_id,
          display: user?.email ?? token.user_id,
          permissions,
          // A first-party client is handed whatever the person holds without asking; any other was given this token alone.
          acts_in_full: token.client.first_party && !isBound,
          ...(isBound && { organization_id, asking_client_id: token.client.id }),
          session_id: token.session_id,
          signed_in: { acr: isClass(token.acr) ? token.acr : '1', at: token.auth_time },
        };
  return { actor, subject: token.sub, again: async (later) => callerOf(later, await again(later)) };
}
