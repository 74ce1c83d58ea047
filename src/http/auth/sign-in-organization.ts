import type { Request } from 'express';
import type { Client } from '../../domain/clients/clients.js';
import { organizationLooks, type BrandedClient } from '../../domain/environments/branding.js';
import { findOrganization, type Organization } from '../../domain/organizations/organizations.js';
import { pendingHere, type PendingAuthorization } from '../request/return-to.js';

/** The enabled organization that a pending sign-in names, or that the person chose; null for none, and where its client takes none. */
export async function organizationOfSignIn(
  { ctx }: Pick<Request, 'ctx'>,
  client: Client | null,
  pending: PendingAuthorization | null,
): Promise<Organization | null> {
  if (client === null || client.organization_usage === 'deny' || pending === null) return null;
  const word = pending.organization ?? pending.parameters['organization'];
  const organization = word ? await findOrganization(ctx, word) : null;
  return organization?.status === 'enabled' ? organization : null;
}

/** Whom the pages of a pending sign-in look like: the organization that it is for, else its client. */
export async function brandingOfSignIn(req: Request, client: Client | null): Promise<BrandedClient | null> {
  const organization = client && (await organizationOfSignIn(req, client, pendingHere(req)));
  return organization && client ? organizationLooks(organization, client) : client;
}
