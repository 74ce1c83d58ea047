import type { Client } from '../clients/clients.js';
import type { Detail } from '../../lib/authorization-details.js';
import { algorithmFor } from '../clients/profile.js';
import type { Context } from '../context.js';
import type { Organization } from '../organizations/organizations.js';
import type { UserWithRoles } from '../../db/tables/user_claims.js';
import { accessTokenValue, type AccessTokenContent, type TokenSeed } from './access-token.js';
import { accessTokenMappedClaims, mappedClaims, type ClaimFacts } from '../claims/claim-mappings.js';
import { agentAct } from './agent-claims.js';
import { asClaimed, claimsOf } from '../claims/claims.js';
import { idTokenClaimsOf, idTokenPayload, idTokenValue, type IdTokenContent } from './id-token.js';
import { claimsOfOrganization, requireOrganizationClaims, type OrganizationClaims } from './organization-claims.js';
import { shownPermissions, type Target } from './target.js';

/** What a person allowed a client, as a code or a refresh token keeps it, and the person as far as claims want. */
export type PersonsGrant = {
  readonly grant_id: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly organization_id: string | null;
  readonly auth_time: Date | null;
  readonly acr: string | null;
  readonly amr: readonly string[];
  /** What the `claims` parameter asked for (OIDC Core 5.5): at userinfo, and in the ID token. */
  readonly claims: Readonly<Record<string, unknown>> | null;
  readonly id_token_claims: readonly string[] | null;
  /** Names of the resource's permissions that the person holds. */
  readonly permissions: readonly string[];
  readonly user: UserWithRoles | null;
};

/** The tokens to be made for a grant: for whom, of what kind and how long; `lifetime` of the access token, in seconds. */
export type Issuance = {
  readonly client: Client;
  readonly target: Target | null;
  readonly seed: TokenSeed;
  readonly format: 'jwt' | 'opaque';
  readonly lifetime: number;
  readonly scope: string;
  readonly issued_at: Date;
  /** The thumbprint of the key that the access token is bound to. */
  readonly jkt?: string | null;
  /** `nonce` of the authorization request; null for refreshed tokens, and when it had none. */
  readonly nonce: string | null;
  readonly authorization_details?: readonly Detail[] | null;
};

type Contents = {
  readonly facts: ClaimFacts;
  readonly access: AccessTokenContent;
  /** Null without `openid`. */
  readonly id: IdTokenContent | null;
};

function contentsOf(ctx: Context, granted: PersonsGrant, issuance: Issuance, organization: OrganizationClaims): Contents {
  const { user, user_id, session_id, auth_time, acr, amr, grant_id } = granted;
  const { client, target, seed, format, lifetime, scope, issued_at, nonce, jkt } = issuance;
  const permissions = target && shownPermissions(client, target, scope, granted.permissions);
  const facts = { user: user && asClaimed(ctx.environment, user), permissions };
  const access: AccessTokenContent = {
    seed,
    format,
    sub: user_id,
    client_id: client.id,
    scope,
    audience: target?.resource.identifier ?? ctx.environment.issuer,
    lifetime,
    issued_at,
    grant_id,
    session_id,
    organization,
    auth_time,
    acr,
    amr,
    jkt: jkt ?? null,
    authorization_details: issuance.authorization_details ?? null,
    userinfo_claims: Object.keys(granted.claims ?? {}),
    act: agentAct(client, target && target.resource),
    mapped: accessTokenMappedClaims(client, target && target.resource, facts),
    algorithm: target ? target.resource.signing_alg : algorithmFor(client),
    ...(target && { permissions: permissions ?? [], typ: target.resource.token_typ }),
  };
  if (!scope.split(' ').includes('openid')) return { facts, access, id: null };
  const claims = idTokenClaimsOf(client, facts, scope, granted.id_token_claims ?? []);
  return { facts, access, id: { client, sub: user_id, session_id, organization, auth_time, nonce, acr, amr, issued_at, claims } };
}

/**
 * The access token for a person, and with `openid` in its scope the ID token, which says which access token it came with (OIDC Core 3.1.3.6)
 * and is therefore signed after it.
 */
export async function signForPerson(
  ctx: Context,
  granted: PersonsGrant,
  issuance: Issuance,
): Promise<{ access_token: string; id_token: string | undefined }> {
  const organization = await requireOrganizationClaims(ctx, granted.organization_id);
  const { access, id } = contentsOf(ctx, granted, issuance, organization);
  const access_token = await accessTokenValue(ctx, access);
  return { access_token, id_token: id === null ? undefined : await idTokenValue(ctx, id, access_token) };
}

type UserinfoFacts = {
  readonly user: UserWithRoles;
  readonly permissions: readonly string[] | null;
  readonly sub: string;
  readonly organization: Pick<Organization, 'id' | 'name' | 'display_name'> | null;
};

/** The claims at userinfo (OIDC Core 5.3.2): of the scopes, of the `claims` parameter by their names, and those that the client maps. */
export const userinfoClaims = (
  { environment }: Pick<Context, 'environment'>,
  client: Client,
  { user: whose, permissions, sub, organization }: UserinfoFacts,
  scopes: readonly string[],
  requested: readonly string[],
): Record<string, unknown> => {
  const user = asClaimed(environment, whose);
  const claims = claimsOf(user, scopes, requested);
  if (client.claim_mappings.length > 0) Object.assign(claims, mappedClaims(client.claim_mappings, 'userinfo', { user, permissions }));
  claims['sub'] = sub;
  // Of these names nothing but this: a mapped claim is not the organization.
  for (const name of ['org_id', 'org_name', 'org_display_name'] as const) delete claims[name];
  if (organization)
    Object.assign(claims, { org_id: organization.id, org_name: organization.name, org_display_name: organization.display_name });
  return claims;
};

/** What the tokens of a grant would say, without signing or storing anything; null where there would be none. */
export function previewForPerson(
  ctx: Context,
  granted: PersonsGrant & { readonly user: UserWithRoles; readonly organization: Organization | null },
  issuance: Issuance,
): { access: AccessTokenContent; id_token: Record<string, unknown> | null; userinfo: Record<string, unknown> | null } {
  const { facts, access, id } = contentsOf(ctx, granted, issuance, claimsOfOrganization(granted.organization));
  const whose = { user: granted.user, permissions: facts.permissions, sub: granted.user_id, organization: granted.organization };
  return {
    access,
    id_token: id && idTokenPayload(ctx, id, issuance.seed.value),
    userinfo: id && userinfoClaims(ctx, issuance.client, whose, issuance.scope.split(' '), Object.keys(granted.claims ?? {})),
  };
}
