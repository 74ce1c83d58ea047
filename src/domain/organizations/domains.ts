import { newStamps } from '../../db/records.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import {
  deleteOrganizationDomain, insertOrganizationDomain, listVerifiedOrganizationDomains, updateOrganizationDomain, type OrganizationDomainRow,
} from '../../db/tables/organization_domains.js'; // prettier-ignore
import type { OrganizationRow } from '../../db/tables/organizations.js';
import { companyDomainProblem, type CompanyDomainProblem } from '../../lib/company-domain.js';
import { randomToken } from '../../lib/random.js';
import { domainOfEmail } from '../connections/connections.js';
import { remembered, type Context } from '../context.js';
import { isMissingFor, type RecordCheck } from '../environments/domain-record.js';
import { emit } from '../events/emit.js';
import { Refusal, refuseDuplicates, unfit, unfitRelationship } from '../refusal.js';
import { findOrganization, type Organization } from './organizations.js';

export type OrganizationDomain = OrganizationDomainRow;

type Verified = Awaited<ReturnType<typeof listVerifiedOrganizationDomains>>;

const duplicates = {
  organization_domains_environment_id_organization_id_domain_key: {
    attribute: 'domain',
    detail: 'The organization has the domain already.',
  },
  // Only who proved that the domain is theirs is told this.
  organization_domains_verified: {
    attribute: 'domain',
    detail: 'Another organization has verified the domain. It has to be removed there first.',
  },
};

const problemTexts: Readonly<Record<CompanyDomainProblem, string>> = {
  'not a domain': 'This is not a lower-case domain name such as example.com.',
  'public suffix': 'Everybody can register names below this one.',
  'mail provider': 'Everybody gets addresses there.',
};

/** Days for which the record of a verified domain may be missing. */
export const missingDaysOfOrganization = 14;

const allVerified = async (ctx: Context): Promise<Verified> =>
  (await remembered(ctx, 'organization_domains', 'verified', ({ scope }) => listVerifiedOrganizationDomains(scope))) ?? [];

/**
 * The organization in whose verified domain the address lies, and which therefore manages its person, with the connection that people there are led to.
 * Null: nobody's.
 */
export async function managingOrganization(
  ctx: Context,
  email: string,
): Promise<{ readonly organization: Organization; readonly domain: Verified[number] } | null> {
  const name = domainOfEmail(email);
  const domain = (await allVerified(ctx)).find((one) => one.domain === name);
  const organization = domain && (await findOrganization(ctx, domain.organization_id));
  return organization ? { organization, domain } : null;
}

/** Whether the organization's connections and directory speak for the address (specification 16.4.1). */
export async function speaksForAddress(ctx: Context, organization_id: string, email: string): Promise<boolean> {
  const name = domainOfEmail(email);
  return (await allVerified(ctx)).some((one) => one.organization_id === organization_id && one.domain === name);
}

/** A connection that serves a domain is one of the same organization. @throws {Refusal} 422 */
function requireOwnConnection(organization_id: string, connection: ConnectionRow | null): void {
  if (connection === null || connection.organization_id === organization_id) return;
  throw new Refusal(unfitRelationship('connection', 'related_not_found', 'The organization has no such connection.'));
}

/** Adds a domain, to be verified. Others may wait for it too, and nobody learns of that. @throws {Refusal} 409, 422 */
export async function addOrganizationDomain(
  tx: Context,
  { domain }: { readonly domain: string },
  organization: Pick<OrganizationRow, 'id'>,
  connection: ConnectionRow | null,
): Promise<OrganizationDomain> {
  const own = new URL(tx.config.baseUrl).hostname;
  const isOwn = domain === own || domain.endsWith(`.${own}`);
  const problem = companyDomainProblem(domain);
  if (isOwn) throw new Refusal(unfit('domain', 'own_domain', 'This is an address of the service itself.'));
  if (problem) throw new Refusal(unfit('domain', 'invalid_domain', problemTexts[problem]));
  requireOwnConnection(organization.id, connection);
  const stamps = { verification_token: randomToken(''), ...newStamps(tx.clock.now()) };
  const links = { organization_id: organization.id, connection_id: connection?.id ?? null };
  return refuseDuplicates(duplicates, () => insertOrganizationDomain(tx.scope, { domain, ...links, ...stamps }));
}

/** Chooses the connection that people with an address there are led to; null: none in particular. @throws {Refusal} 404, 422 */
export async function changeOrganizationDomain(
  tx: Context,
  row: OrganizationDomain,
  connection: ConnectionRow | null,
): Promise<OrganizationDomain> {
  requireOwnConnection(row.organization_id, connection);
  const changed = await updateOrganizationDomain(tx.scope, row.id, { connection_id: connection?.id ?? null, updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such domain.' });
  return changed;
}

/**
 * Notes what a look-up found. A verified domain fails when its record has been missing for {@link missingDaysOfOrganization} days; emits
 * `organization_domain.verified`. @throws {Refusal} 409 when another organization has proven it
 */
export async function noteOrganizationDomainCheck(tx: Context, row: OrganizationDomain, check: RecordCheck): Promise<OrganizationDomain> {
  const now = tx.clock.now();
  const looked = { failure_reason: check.failure_reason, last_checked_at: now };
  if (row.status === 'verified') {
    const { missing_since, gone } = isMissingFor(row, check, now, missingDaysOfOrganization);
    if (!gone) return (await updateOrganizationDomain(tx.scope, row.id, { ...looked, missing_since }, false)) ?? row;
  }
  const status: OrganizationDomain['status'] = check.verified ? 'verified' : row.status === 'verified' ? 'failed' : row.status;
  if (status === row.status) return (await updateOrganizationDomain(tx.scope, row.id, looked, false)) ?? row;
  const changes = { ...looked, status, missing_since: null, updated_at: now, ...(check.verified && { verified_at: now }) };
  const changed = (await refuseDuplicates(duplicates, () => updateOrganizationDomain(tx.scope, row.id, changes))) ?? row;
  if (status === 'verified') {
    const { id, organization_id, domain } = changed;
    await emit(tx, 'organization_domain.verified', { id, organization_id, domain, verified_at: now.toISOString() });
  }
  return changed;
}

export async function removeOrganizationDomain(tx: Context, row: OrganizationDomain): Promise<void> {
  await deleteOrganizationDomain(tx.scope, row.id);
}
