import type { Context } from '../context.js';
import { findOrganization, type Organization } from '../organizations/organizations.js';
import { OAuthError } from '../../errors.js';

/** What tokens say of the organization that they are for. Applications decide by `org_id`: a name may be given to another one later. */
export type OrganizationClaims = {
  readonly org_id: string | undefined;
  readonly org_name: string | undefined;
  /** Of userinfo alone. */
  readonly org_display_name: undefined;
};

/** Of a token that is for none. Named all the same: claims that somebody maps under these names are none of ours. */
export const noOrganization: OrganizationClaims = { org_id: undefined, org_name: undefined, org_display_name: undefined };

export const claimsOfOrganization = (organization: Organization | null): OrganizationClaims =>
  organization ? { ...noOrganization, org_id: organization.id, org_name: organization.name } : noOrganization;

/** The claims of the organization, from memory; null when it is gone. */
export async function organizationClaims(ctx: Context, organization_id: string | null): Promise<OrganizationClaims | null> {
  if (organization_id === null) return noOrganization;
  const organization = await findOrganization(ctx, organization_id);
  return organization && claimsOfOrganization(organization);
}

/** The same for tokens that are about to be issued. @throws {OAuthError} `invalid_grant` when it went meanwhile */
export async function requireOrganizationClaims(ctx: Context, organization_id: string | null): Promise<OrganizationClaims> {
  const claims = await organizationClaims(ctx, organization_id);
  if (!claims) throw noMember();
  return claims;
}

/** The refusal of whoever is no active member of the organization (any more), which may be disabled or gone. */
const noMember = () => OAuthError.invalid_grant('the user is no longer an active member of the organization').by('not_a_member');
