import type { Request } from 'express';
import { listMembershipsOfUser } from '../db/tables/organization_memberships.js';
import type { Membership } from '../domain/organizations/memberships.js';
import { findOrganization, type Organization } from '../domain/organizations/organizations.js';
import { sessionOf } from '../http/auth/browser-session.js';

/** The person's organizations as JSON and the page show them; of disabled ones nothing is told. */
export async function ownOrganizations(req: Request) {
  const memberships = await listMembershipsOfUser(req.ctx.scope, sessionOf(req).user_id);
  const own = await Promise.all(
    memberships.map(async (one) => ({ one, organization: await findOrganization(req.ctx, one.organization_id) })),
  );
  return own.flatMap(({ one, organization }) => (organization?.status === 'enabled' ? [membershipDocument(one, organization)] : []));
}

const membershipDocument = ({ status, created_at }: Membership, { id, name, display_name, branding }: Organization) => ({
  id,
  name,
  display_name,
  logo_url: branding.logo_url ?? null,
  status,
  joined_at: created_at.toISOString(),
});
