import { apiResourceOf, clientGrantOf, type Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { listGrantedIdentifiers } from '../../db/tables/client_grants.js';
import { tokenIssuedSubscribers } from '../../domain/events/emit.js';
import { accessTokenValue, seedAccessToken } from '../../domain/tokens/access-token.js';
import { accessTokenMappedClaims } from '../../domain/tokens/claim-mappings.js';
import { insertClientAccessToken, storeTokenIssued } from '../../db/tables/access_tokens.js';
import { OAuthError } from '../../errors.js';
import { uuidv7 } from '../../lib/random.js';
import { formatScope, isWithin, parseScope } from '../../lib/scope-set.js';
import { grant, optional, required, type GrantedTokens } from './grant.js';

/** So many identifiers are named. */
const most = 10;

/** The API resources that the client could name, without what an error_description may not hold (RFC 6749 5.2). */
export async function grantedIdentifiers(ctx: Context, client: Client): Promise<string> {
  const identifiers = await listGrantedIdentifiers(ctx.scope, client.id, most);
  if (identifiers.length === 0) return 'this client has no grant for an API resource yet';
  return `this client has grants for ${identifiers.join(', ').replaceAll(/["\\]/g, '?')}`;
}

/** The token of a client for itself at the resource, within its grant. @throws {OAuthError} `invalid_target`, `invalid_scope` */
export async function issueForClient(
  ctx: Context,
  client: Client,
  params: { readonly resource: string; readonly scope: string | undefined },
  grant_type: string,
): Promise<GrantedTokens> {
  const resource = await apiResourceOf(ctx, params.resource);
  const clientGrant = resource && (await clientGrantOf(ctx, client.id, resource, 'client'));
  if (!resource || !clientGrant)
    throw OAuthError.invalid_target(`the resource is unknown or not granted: ${await grantedIdentifiers(ctx, client)}`);

  const held = clientGrant.scopes.filter((scope) => resource.permissions.includes(scope));
  const asked = parseScope(params.scope ?? '');
  if (asked === null || !isWithin(asked, held)) throw OAuthError.invalid_scope('the scope goes beyond what the client was granted');
  const granted = asked.length > 0 ? asked : held;

  const now = ctx.clock.now();
  const seed = seedAccessToken(ctx);
  const scope = formatScope(granted);
  const subscribers = await tokenIssuedSubscribers(ctx);
  const event_id = uuidv7(now.getTime());
  const lifetime = resource.access_token_lifetime;
  const format = resource.token_format;
  const common = { client_id: client.id, scope, audience: resource.identifier, lifetime, event_id, subscribers, jti: seed.jti, grant_type };
  if (format === 'opaque') await insertClientAccessToken(ctx.scope, { ...common, digest: seed.digest, issued_at: now });
  else if (subscribers.length > 0) await storeTokenIssued(ctx.scope, { ...common, at: now, token_format: format });

  const access_token = await accessTokenValue(ctx, {
    seed,
    format,
    sub: client.id,
    client_id: client.id,
    scope,
    audience: resource.identifier,
    lifetime,
    issued_at: now,
    permissions: granted,
    typ: resource.token_typ,
    algorithm: resource.signing_alg,
    // Nobody is behind the token: constants, and the client's own permissions.
    mapped: accessTokenMappedClaims(client, resource, { user: null, permissions: granted }),
  });
  return { access_token, expires_in: lifetime, scope };
}

/** RFC 6749 4.4: a client acts for itself, on one API resource (RFC 8707) for which it holds a grant. Never a refresh token. */
export const client_credentials = grant({
  public_clients: false,
  params: { resource: required(4096), scope: optional(16_384) },
  missing: { resource: grantedIdentifiers },
  handle: (ctx, client, params) => issueForClient(ctx, client, params, 'client_credentials'),
});
