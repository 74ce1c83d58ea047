import { clientGrantOf, letsIn, namedResource, type ApiResource, type Client } from '../../domain/clients/clients.js';
import { takesTokensOf, tokensNotTaken } from '../../domain/clients/profile.js';
import type { Context } from '../../domain/context.js';
import { listGrantedIdentifiers } from '../../db/tables/client_grants.js';
import { tokenIssuedSubscribers } from '../../domain/events/emit.js';
import { accessTokenValue, seedAccessToken, type AccessTokenContent, type TokenSeed } from '../../domain/tokens/access-token.js';
import { ownProfile } from '../../domain/tokens/agent-claims.js';
import { accessTokenMappedClaims } from '../../domain/claims/claim-mappings.js';
import { proofRefused, requireBound, spendProof, usedBefore, type DpopProof } from '../../domain/dpop/proof.js';
import { insertClientAccessToken, storeTokenIssued } from '../../db/tables/client_tokens.js';
import { OAuthError } from '../../errors.js';
import { uuidv7 } from '../../lib/random.js';
import type { PreviewRule } from '../../lib/refusal-rules.js';
import { quotedValue } from '../../domain/tokens/unusable-token.js';
import { formatScope, parseScope } from '../../lib/scope-set.js';
import { requireDetails } from '../../domain/tokens/authorization-details.js';
import type { Detail } from '../../lib/authorization-details.js';
import { detailsParam, grant, optional, required, type GrantedTokens } from './grant.js';
import { organizationParam, requireSameOrganization } from './same-organization.js';

/** The most identifiers that an error names. */
const most = 10;

/** The API resources that the client could name, without what an error_description may not hold (RFC 6749 5.2). */
async function grantedIdentifiers(ctx: Context, client: Client): Promise<string> {
  const identifiers = await listGrantedIdentifiers(ctx.scope, client.id, most);
  if (identifiers.length === 0) return 'this client has no grant for an API resource yet';
  return `this client has grants for ${identifiers.join(', ').replaceAll(/["\\]/g, '?')}`;
}

/** The resource of a request that names none: the client's `default_resource`. @throws {OAuthError} `invalid_request` when it has none */
export async function defaultResource(ctx: Context, client: Client): Promise<string> {
  if (client.default_resource !== null) return client.default_resource;
  const granted = await grantedIdentifiers(ctx, client);
  const setting = 'if it can not send resource, set default_resource on the client';
  throw OAuthError.invalid_request(`resource is required: ${granted}; ${setting}`).by('unknown_resource');
}

type RequestedAccess = { readonly resource: string; readonly scope: string | undefined };
type OwnRequest = RequestedAccess & { readonly organization: string | undefined; readonly authorization_details?: string | undefined };

/** The resource of a client's own token, and which of its scopes it has. */
export type OwnTarget = { readonly resource: ApiResource; readonly granted: readonly string[] };

/** What the client gets of the resource within its grant. @throws {OAuthError} `invalid_target`, `invalid_scope` */
export async function ownTarget(ctx: Context, client: Client, params: RequestedAccess): Promise<OwnTarget> {
  const resource = await namedResource(ctx, params.resource);
  const clientGrant = resource && letsIn(client, resource) && (await clientGrantOf(ctx, client.id, resource, 'client'));
  if (!resource || !clientGrant)
    throw OAuthError.invalid_target(
      `the resource ${quotedValue(params.resource)} is unknown or not granted: ${await grantedIdentifiers(ctx, client)}`,
    ).by(resource ? 'no_client_grant' : 'unknown_resource', { client_id: client.id });
  if (!takesTokensOf(client, resource)) throw OAuthError.invalid_target(tokensNotTaken).by('tokens_not_taken', { client_id: client.id });
  const held = clientGrant.scopes.filter((scope) => resource.permissions.includes(scope));
  const requested = parseScope(params.scope ?? '');
  const rulings = (requested ?? []).map((name) => ({ name, rule: ruleFor(name, held, resource) }));
  const beyond = requested === null ? 'unknown_scope' : rulings.find(({ rule }) => rule !== 'granted')?.rule;
  if (requested === null || beyond !== undefined)
    throw OAuthError.invalid_scope('the scope goes beyond what the client was granted').by(beyond ?? 'unknown_scope', {
      client_id: client.id,
      scopes: rulings,
    });
  return { resource, granted: requested.length > 0 ? requested : held };
}

const ruleFor = (scope: string, held: readonly string[], { permissions }: ApiResource): PreviewRule =>
  held.includes(scope) ? 'granted' : permissions.includes(scope) ? 'not_in_client_grant' : 'unknown_scope';

/** The random parts of a client's own token, when it is made, and the key that it is bound to. */
type Making = {
  readonly seed: TokenSeed;
  readonly issued_at: Date;
  readonly jkt: string | null;
  readonly authorization_details?: readonly Detail[] | null;
};

/** What a client's own token is to say. */
export const ownTokenContent = (client: Client, { resource, granted }: OwnTarget, making: Making): AccessTokenContent => ({
  format: resource.token_format,
  sub: client.id,
  client_id: client.id,
  scope: formatScope(granted),
  audience: resource.identifier,
  lifetime: resource.access_token_lifetime,
  permissions: granted,
  typ: resource.token_typ,
  algorithm: resource.signing_alg,
  // Nobody is behind the token: constants, and the client's own permissions.
  mapped: accessTokenMappedClaims(client, resource, { user: null, permissions: granted }),
  client_profile: ownProfile(client, resource),
  // Last: V8 adds each member behind a spread by a call of its own, which takes ten times as long as all before it.
  ...making,
});

/**
 * The token of a client for itself at the resource, within its grant; bound to the key of the proof, whose use is stored.
 * @throws {OAuthError} `invalid_target`, `invalid_scope`, `invalid_dpop_proof`
 */
export async function issueForClient(
  ctx: Context,
  client: Client,
  params: OwnRequest,
  proof: DpopProof | null,
  grant_type: string,
): Promise<GrantedTokens> {
  await requireSameOrganization(ctx, null, params.organization);
  const target = await ownTarget(ctx, client, params);
  requireBound(ctx, target.resource, proof);
  const authorization_details = requireDetails(client, target.resource, params.authorization_details);

  const now = ctx.clock.now();
  const jkt = proof && proof.jkt;
  const seed = seedAccessToken(ctx);
  const content = ownTokenContent(client, target, { seed, issued_at: now, jkt, authorization_details });
  const { client_id, scope, audience, lifetime, format } = content;
  const subscribers = await tokenIssuedSubscribers(ctx);
  const event_id = uuidv7(now.getTime());
  const common = { client_id, scope, audience, lifetime, event_id, subscribers, grant_type, jti: seed.jti, proof: proof && proof.use };
  if (format === 'jwt' && subscribers.length === 0) {
    if (proof) await spendProof(ctx, proof);
  } else {
    const stored =
      format === 'opaque'
        ? await insertClientAccessToken(ctx.scope, { digest: seed.digest, issued_at: now, jkt, authorization_details, ...common })
        : await storeTokenIssued(ctx.scope, { at: now, token_format: format, ...common });
    if (!stored) throw proofRefused(ctx, usedBefore);
  }

  const access_token = await accessTokenValue(ctx, content);
  return { access_token, expires_in: lifetime, scope, authorization_details };
}

/** RFC 6749 4.4: a client acts for itself, on one API resource (RFC 8707) for which it holds a grant. Never a refresh token. */
export const client_credentials = grant({
  public_clients: false,
  spends_proof: true,
  params: { resource: required(4096), scope: optional(16_384), organization: organizationParam, authorization_details: detailsParam },
  absent: { resource: defaultResource },
  handle: (ctx, client, params, _origin, proof) => issueForClient(ctx, client, params, proof, 'client_credentials'),
});
