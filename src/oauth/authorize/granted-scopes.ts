import { askableScopes, type ApiResource, type Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { organizationPermissions } from '../../domain/reach/management-permissions.js';
import { isOpenidScope } from '../../domain/claims/scopes.js';
import { isHeldOnly, type Target } from '../../domain/tokens/target.js';
import { listPermissionNamesOfMember, listPermissionNamesOfUser } from '../../db/tables/permissions.js';
import type { PreviewRule, ScopeRuling } from '../../lib/refusal-rules.js';
import type { AuthorizationRequest } from './request.js';

function ruleFor(client: Client, scope: string, target: Target | null): PreviewRule {
  const isOwn = target?.resource.permissions.includes(scope) === true;
  const isKnown = isOpenidScope(scope) || isOwn;
  if (client.scopes?.includes(scope) === false) return isKnown ? 'not_in_client_scopes' : 'unknown_scope';
  if (scope === 'offline_access') return client.grant_types.includes('refresh_token') ? 'granted' : 'grant_type_not_allowed';
  if (!isKnown && client.scopes === null) return 'unknown_scope';
  return isOwn && !isOpenidScope(scope) && !target.askable.includes(scope) ? 'not_in_client_grant' : 'granted';
}

/** What the resource says is granted where none of its scopes was asked for. */
function defaultScopes(client: Client, requested: readonly string[], target: Target | null): readonly string[] {
  if (target === null || requested.some((scope) => target.resource.permissions.includes(scope))) return [];
  const { default_scopes, permissions } = target.resource;
  return default_scopes.filter((scope) => permissions.includes(scope) && client.scopes?.includes(scope) !== false);
}

/**
 * What becomes of each of the asked scopes, and of those that come by themselves. One that nobody here knows, or the client may not ask for, is left out, as RFC 6749 3.3 allows; one beyond
 * the client's own list refuses the request.
 */
export function judgeScopes(client: Client, requested: readonly string[], target: Target | null): ScopeRuling[] {
  const judge = (name: string): ScopeRuling => ({ name, rule: ruleFor(client, name, target) });
  const unasked = defaultScopes(client, requested, target).map(judge);
  return [...requested.map(judge), ...unasked.filter(({ rule }) => rule === 'granted')];
}

export const granted = (rulings: readonly ScopeRuling[]): string[] =>
  rulings.filter(({ rule }) => rule === 'granted').map(({ name }) => name);

/** Whether a scope is known and beyond what the client may ask for at all. */
export const goesBeyondClient = (rulings: readonly ScopeRuling[]): boolean => rulings.some(({ rule }) => rule === 'not_in_client_scopes');

/** What of a request this is about. */
type RightsRequest = Pick<AuthorizationRequest, 'client' | 'resource' | 'scopes' | 'organization'>;

/** What the client may have of what the person holds. */
async function grantable(ctx: Context, { client }: RightsRequest, resource: ApiResource, held: readonly string[]): Promise<string[]> {
  const askable = (await askableScopes(ctx, client, resource)) ?? [];
  return held.filter((scope) => askable.includes(scope) && client.scopes?.includes(scope) !== false);
}

/** Of the membership alone where the sign-in is for an organization. */
export const heldBy = (
  { scope }: Context,
  organization: AuthorizationRequest['organization'],
  user_id: string,
  { identifier }: ApiResource,
) =>
  organization === null
    ? listPermissionNamesOfUser(scope, user_id, identifier)
    : listPermissionNamesOfMember(scope, organization.id, user_id, identifier);

/**
 * The request without permissions that the person doesn't hold, where they would do nothing: at the Management API, and at API resources whose
 * `user_scopes` is `held`. They need neither be asked for nor be named in the token (RFC 6749 3.3: less than was asked, which the token response
 * tells). `held` without a scope of the resource asks for all that the person holds of it. Scopes of other API resources are theirs to judge.
 */
export async function limitToRights<R extends RightsRequest>(
  ctx: Context,
  request: R,
  session: { readonly user_id: string } | null,
): Promise<R> {
  const { resource, scopes } = request;
  if (session === null || resource === null || !(resource.is_system || isHeldOnly(resource))) return request;
  const all = await heldBy(ctx, request.organization, session.user_id, resource);
  const held = request.organization && resource.is_system ? all.filter((name) => organizationPermissions.includes(name)) : all;
  const isOwn = (scope: string) => resource.permissions.includes(scope);
  const others = scopes.filter((scope) => !isOwn(scope));
  if (isHeldOnly(resource) && others.length === scopes.length)
    return { ...request, scopes: [...scopes, ...(await grantable(ctx, request, resource, held))] };
  const keeps = (scope: string) => isOpenidScope(scope) || held.includes(scope) || (!resource.is_system && !isOwn(scope));
  return { ...request, scopes: scopes.filter(keeps) };
}

/** The rulings once it is known what the person's rights left, and what they brought. */
export const afterRights = (rulings: readonly ScopeRuling[], scopes: readonly string[]): ScopeRuling[] => [
  ...rulings.map(
    ({ name, rule }) => ({ name, rule: rule === 'granted' && !scopes.includes(name) ? 'permission_not_held' : rule }) as const,
  ),
  ...scopes.filter((scope) => !rulings.some(({ name }) => name === scope)).map((name) => ({ name, rule: 'granted' as const })),
];
