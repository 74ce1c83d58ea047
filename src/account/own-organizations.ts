import type { OwnMembership } from '../db/tables/organization_memberships.js';
import type { Context } from '../domain/context.js';
import { findOrganization, type Organization } from '../domain/organizations/organizations.js';

/** The person's organizations as JSON and the page show them; of disabled ones nothing is told. */
export async function ownOrganizations(ctx: Context, memberships: readonly OwnMembership[]) {
  const own = await Promise.all(memberships.map(async (one) => ({ one, organization: await findOrganization(ctx, one.organization_id) })));
  return own.flatMap(({ one, organization }) => (organization?.status === 'enabled' ? [membershipDocument(one, organization)] : []));
}

const membershipDocument = ({ status, created_at }: OwnMembership, { id, name, display_name, branding }: Organization) => ({
  id,
  name,
  display_name,
  logo_url: branding.logo_url ?? null,
  status,
  joined_at: new Date(created_at).toISOString(),
});
