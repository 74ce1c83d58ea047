import type { Context } from '../../domain/context.js';
import { isOpenidScope } from '../../domain/tokens/scopes.js';
import { listPermissionNamesOfUser } from '../../db/tables/permissions.js';
import type { AuthorizationRequest } from './request.js';

/**
 * The request without permissions of the Management API that the person doesn't hold: they would do nothing there, and need neither be asked
 * for nor be named in the token (RFC 6749 3.3: less than was asked, which the token response tells). Scopes of other API resources are
 * theirs to judge.
 */
export async function withinRights(
  ctx: Context,
  request: AuthorizationRequest,
  session: { readonly user_id: string } | null,
): Promise<AuthorizationRequest> {
  const { management_audience } = ctx.environment;
  if (session === null || request.resource?.identifier !== management_audience) return request;
  const held = new Set(await listPermissionNamesOfUser(ctx.scope, session.user_id, management_audience));
  return { ...request, scopes: request.scopes.filter((scope) => isOpenidScope(scope) || held.has(scope)) };
}
