import { askableScopes, namedResource, type Client } from '../../domain/clients/clients.js';
import { takesTokensOf, tokensNotTaken } from '../../domain/clients/profile.js';
import { isSelfRegistered } from '../../domain/clients/rules.js';
import type { Context } from '../../domain/context.js';
import type { Target } from '../../domain/tokens/target.js';
import { quotedValue } from '../../domain/tokens/unusable-token.js';
import type { RefusalRule } from '../../lib/refusal-rules.js';

/** Why the client may not ask people for what `resource` names: `invalid_target` (RFC 8707 2). */
export type TargetProblem = { readonly description: string; readonly rule: RefusalRule };

/**
 * What `resource` of an authorization or device authorization request names, as far as its client may ask people for it. A resource whose tokens for people reach
 * only clients that were let in, the Management API above all, is refused to others as an unknown one is.
 */
export async function requestedTarget(ctx: Context, client: Client, identifier: string): Promise<Target | TargetProblem> {
  const resource = await namedResource(ctx, identifier);
  if (!resource) return { description: `the resource ${quotedValue(identifier)} is not registered`, rule: 'unknown_resource' };
  // Whoever holds its registration access token could replace all that an administrator has looked at (RFC 7591 5).
  const askable = resource.is_system && isSelfRegistered(client) ? null : await askableScopes(ctx, client, resource);
  if (!askable)
    return { description: `the client may not ask people for the resource ${quotedValue(identifier)}`, rule: 'no_client_grant' };
  if (!takesTokensOf(client, resource)) return { description: tokensNotTaken, rule: 'tokens_not_taken' };
  return { resource, askable };
}
