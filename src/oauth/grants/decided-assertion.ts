import {
  fittingGrants,
  type ExternalServer,
  type FittingGrants,
  type OutboundPolicy,
  type OutboundTarget,
} from '../../domain/assertions/outbound.js';
import { clientOf, type Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { findOrganization } from '../../domain/organizations/organizations.js';
import { requirementOf, unmetOf } from '../../domain/proofs/sign-in-requirement.js';
import { identityProviderId } from '../../domain/saml/identity-provider.js';
import { nameIdAt, nameIdFormats } from '../../domain/saml/name-id.js';
import { assertedAct } from '../../domain/tokens/agent-claims.js';
import { OAuthError } from '../../errors.js';
import { parseDetails, type Detail } from '../../lib/authorization-details.js';
import { formatScope, parseScope } from '../../lib/scope-set.js';
import type { AssertionSubject } from './assertion-subject.js';

/** What names no server outside, and what no grant fits, is one answer (specification 19.1.3). */
export const noOutboundTarget = (rule: 'no_outbound_grant' | 'outbound_grant_for_others' = 'no_outbound_grant') =>
  OAuthError.invalid_target('audience and resource name no server outside that the client may get assertions for').by(rule);

/**
 * Of the grants that fit those that the sign-in does for, as one: the oldest says what the server calls the client. It is held against what the client and the
 * organization require by now, too: an ID token is of a sign-in that may have been before. @throws {OAuthError}
 */
async function policyOf(
  ctx: Context,
  client: Client,
  subject: AssertionSubject,
  { grants, areForOthers }: FittingGrants,
): Promise<OutboundPolicy> {
  const [first] = grants;
  if (!first) throw noOutboundTarget(areForOthers ? 'outbound_grant_for_others' : 'no_outbound_grant');
  const now = ctx.clock.now();
  const organization = subject.organization_id === null ? null : await findOrganization(ctx, subject.organization_id);
  const requirement = (one: OutboundPolicy) => requirementOf(one, client, organization);
  const met = grants.filter((one) => unmetOf(requirement(one), subject.acr, subject.auth_time, now) === null);
  if (!met[0]) {
    const { acr, max_age } = requirement(first);
    throw OAuthError.insufficient_user_authentication('the sign-in is too weak or too old for the server outside', { acr, max_age });
  }
  const { external_client_id } = met[0];
  const same = met.filter((one) => one.external_client_id === external_client_id);
  return { ...met[0], scopes: [...new Set(same.flatMap((one) => one.scopes))], detail_types: same.flatMap((one) => one.detail_types) };
}

/** What was asked for, else all, within the grants. @throws {OAuthError} `invalid_scope` */
function scopeOf({ scopes }: OutboundPolicy, scope: string | undefined): string {
  const requested = parseScope(scope ?? '');
  const granted = scopes.filter((one) => requested?.length === 0 || requested?.includes(one));
  if (granted.length === 0)
    throw OAuthError.invalid_scope('nothing of the scope is granted at the server outside').by('outbound_scope_not_granted');
  return formatScope(granted);
}

/** What was asked for beyond scopes, as it came: the grants name types, and what the objects may say the server alone knows. @throws {OAuthError} */
function detailsOf({ detail_types }: OutboundPolicy, text: string | undefined): readonly Detail[] | undefined {
  if (text === undefined) return undefined;
  const details = parseDetails(text);
  const refused = (problem: string) => OAuthError.invalid_authorization_details(`authorization_details ${problem}`).by('details_not_taken');
  if (typeof details === 'string') throw refused(details);
  if (details.some(({ type }) => !detail_types.includes(type))) throw refused('has a type that is not granted at the server outside');
  return details;
}

/** Who the person is to the server: as its client here knows them. @throws {OAuthError} `invalid_grant` */
async function subjectClaims(ctx: Context, { sign_in_client_id }: ExternalServer, { user_id, email }: AssertionSubject) {
  const client = sign_in_client_id === null ? null : await clientOf(ctx, sign_in_client_id);
  if (client?.application_type !== 'saml') return { sub: user_id };
  const nameid = nameIdAt(ctx.environment, client, { id: user_id, verified_email: email });
  if (nameid === null) throw OAuthError.invalid_grant('the address of the person is not verified').by('assertion_subject_not_usable');
  const issuer = identityProviderId(ctx.environment);
  return { sub: nameid, sub_id: { format: 'saml-nameid', issuer, nameid, nameid_format: nameIdFormats[client.saml_name_id] } };
}

/** Where the person is at home, as the server wants it. @throws {OAuthError} `invalid_grant` */
function tenantOf(ctx: Context, { tenant }: ExternalServer, { organization_id }: AssertionSubject): string | undefined {
  if (tenant === 'none') return undefined;
  if (tenant === 'environment') return ctx.environment.id;
  if (organization_id !== null) return organization_id;
  throw OAuthError.invalid_grant('the server outside takes people of an organization, and the sign-in was for none').by('not_a_member');
}

/** What an assertion says beside its id and times. What is undefined is left out. */
export type DecidedAssertion = {
  readonly scope: string;
  readonly authorization_details: readonly Detail[] | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
};

/**
 * Whether the client may have an assertion of the person for the target, and what it says: asked for tokens and for their explanation alike.
 * @throws {OAuthError} for the first rule that is against it
 */
export async function decideAssertion(
  ctx: Context,
  client: Client,
  target: OutboundTarget,
  subject: AssertionSubject,
  requested: { readonly scope: string | undefined; readonly authorization_details?: string | undefined },
): Promise<DecidedAssertion> {
  const { server, audience, resource } = target;
  const policy = await policyOf(ctx, client, subject, await fittingGrants(ctx, client, target, subject));
  const scope = scopeOf(policy, requested.scope);
  const authorization_details = detailsOf(policy, requested.authorization_details);
  const client_id = policy.external_client_id ?? (client.origin === 'metadata_document' ? client.id : null);
  if (client_id === null) throw noOutboundTarget();
  const { email, auth_time, acr, amr } = subject;
  const claims = {
    iss: ctx.environment.issuer,
    ...(await subjectClaims(ctx, server, subject)),
    aud: audience,
    client_id,
    resource: resource.identifier,
    scope,
    authorization_details,
    auth_time: auth_time === null ? undefined : Math.floor(auth_time.getTime() / 1000),
    acr,
    amr: amr.length > 0 ? amr : undefined,
    act: assertedAct(client, client_id),
    tenant: tenantOf(ctx, server, subject),
    aud_tenant: server.aud_tenant ?? undefined,
    ...(server.include_email && email !== null && { email, email_verified: true }),
  };
  return { scope, authorization_details, claims };
}
