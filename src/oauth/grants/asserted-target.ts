import { askableScopes, clientGrantOf, namedResource, type ApiResource, type Client } from '../../domain/clients/clients.js';
import { isOpenidScope } from '../../domain/claims/scopes.js';
import { takesTokensOf, tokensNotTaken } from '../../domain/clients/profile.js';
import type { Context } from '../../domain/context.js';
import type { DpopProof } from '../../domain/dpop/proof.js';
import { requireDetails, requireNarrowed } from '../../domain/tokens/authorization-details.js';
import { OAuthError } from '../../errors.js';
import type { Detail } from '../../lib/authorization-details.js';
import { jsonText, type JsonObject } from '../../lib/json-object.js';
import { canonicalResource } from '../../lib/resource-identifier.js';
import { parseScope } from '../../lib/scope-set.js';
import { requireSameOrganization } from './same-organization.js';

/** What the client asks for, within the assertion. */
export type RequestedTarget = {
  readonly resource: string | undefined;
  readonly scope: string | undefined;
  readonly organization: string | undefined;
  readonly authorization_details: string | undefined;
};

/** The API resource of the token, what the client may have of it for people, the scope that the token may have at most, and its authorization details. */
export type AssertedTarget = {
  readonly resource: ApiResource;
  readonly askable: readonly string[];
  readonly scopes: readonly string[];
  readonly authorization_details: readonly Detail[] | null;
};

const refused = (description: string) => OAuthError.invalid_grant(description).by('assertion_refused');

/** The one identifier that claim and parameter leave. @throws {OAuthError} `invalid_target`, `invalid_grant` */
function identifierOf(claim: unknown, named: string | undefined): string {
  const claimed: unknown[] = claim === undefined ? [] : [claim].flat();
  if (!claimed.every((one): one is string => typeof one === 'string' && one.length <= 2048))
    throw refused('resource of the assertion must be a text');
  if (claimed.length === 0 && named === undefined)
    throw OAuthError.invalid_target('neither the assertion nor the request names a resource').by('unknown_resource');
  if (claimed.length === 0) return named as string;
  const left = named === undefined ? claimed : claimed.filter((one) => canonicalResource(one) === canonicalResource(named));
  if (left.length !== 1) throw OAuthError.invalid_target('resource must name one of those of the assertion').by('beyond_authorization');
  return left[0] as string;
}

/** Whether the client may bring assertions for the resource, and what it may have of it. @throws {OAuthError} `invalid_target` */
async function askableOf(ctx: Context, client: Client, resource: ApiResource): Promise<readonly string[]> {
  const askable = resource.is_system || resource.assertion_access === 'off' ? null : await askableScopes(ctx, client, resource);
  const isOpen = resource.assertion_access === 'verified' && client.verified;
  const grant = askable && (await clientGrantOf(ctx, client.id, resource, 'user'));
  if (!askable || !(isOpen || grant?.assertions))
    throw OAuthError.invalid_target('the resource takes no assertions, or none of this client').by('no_client_grant');
  if (!takesTokensOf(client, resource)) throw OAuthError.invalid_target(tokensNotTaken).by('tokens_not_taken');
  return grant ? askable.filter((scope) => grant.scopes.includes(scope)) : askable;
}

/** The scope: that of the assertion, else the resource's default, cut by the request and by what the client may have. @throws {OAuthError} */
function scopesOf(
  { permissions, default_scopes }: ApiResource,
  askable: readonly string[],
  claim: unknown,
  scope: string | undefined,
): string[] {
  const claimed = claim === undefined ? null : typeof claim === 'string' ? parseScope(claim) : undefined;
  const words = claimed?.filter((word) => !isOpenidScope(word));
  if ((claim !== undefined && !words) || words?.some((word) => !permissions.includes(word)))
    throw refused('scope of the assertion is none of the resource');
  const requested = parseScope(scope ?? '');
  const most = words ?? (requested && requested.length > 0 ? permissions : default_scopes);
  const scopes = most.filter((word) => askable.includes(word) && (requested?.length === 0 || requested?.includes(word)));
  if (requested === null || scopes.length === 0)
    throw OAuthError.invalid_scope('nothing is left of the scope of the assertion').by('not_in_client_grant');
  return scopes;
}

/** The details of the assertion, as if the client had asked a person for them, narrowed by the request. @throws {OAuthError} */
const detailsOf = (client: Client, resource: ApiResource, claim: unknown, text: string | undefined): readonly Detail[] | null =>
  requireNarrowed(text, requireDetails(client, resource, claim === undefined ? undefined : (jsonText(claim) ?? '')));

/** What the token is for: within the assertion, the request, and the grant of the client. @throws {OAuthError} */
export async function assertedTarget(
  ctx: Context,
  client: Client,
  claims: JsonObject,
  { resource: named, scope, organization, authorization_details }: RequestedTarget,
  proof: DpopProof | null,
): Promise<AssertedTarget> {
  await requireSameOrganization(ctx, null, organization);
  const resource = await namedResource(ctx, identifierOf(claims['resource'], named));
  if (!resource) throw refused('resource of the assertion is none of ours');
  const askable = await askableOf(ctx, client, resource);
  if (proof === null && resource.dpop_bound_access_tokens)
    throw refused('tokens of the resource are bound to a key: a DPoP proof is needed');
  return {
    resource,
    askable,
    scopes: scopesOf(resource, askable, claims['scope'], scope),
    authorization_details: detailsOf(client, resource, claims['authorization_details'], authorization_details),
  };
}
