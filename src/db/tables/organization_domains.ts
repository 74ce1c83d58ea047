import type { Knex } from 'knex';
import { insert, remove, table, update, type Scope } from '../scope.js';
import { servedSql } from '../served.js';

/** A row of `organization_domains`. */
export type OrganizationDomainRow = {
  environment_id: string;
  id: string;
  organization_id: string;
  domain: string;
  status: 'pending' | 'verified' | 'failed';
  verification_token: string;
  verified_at: Date | null;
  last_checked_at: Date | null;
  failure_reason: string | null;
  /** Since when the record of a verified domain has been missing; null while it is there. */
  missing_since: Date | null;
  /** The connection of the organization that people with an address there are led to; null: any of its connections. */
  connection_id: string | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** The verified domains of all organizations of the environment. */
export async function listVerifiedOrganizationDomains(
  scope: Scope,
): Promise<Pick<OrganizationDomainRow, 'id' | 'organization_id' | 'domain' | 'connection_id'>[]> {
  return (await table<OrganizationDomainRow>(scope, 'organization_domains')
    .where({ status: 'verified' } as never)
    .orderBy('domain')
    .select('id', 'organization_id', 'domain', 'connection_id')) as never;
}

/** Verified domains of all environments that were last looked up before `before`, the longest ago first. */
export async function listOrganizationDomainsToCheck(knex: Knex, before: Date, limit: number): Promise<OrganizationDomainRow[]> {
  return knex<OrganizationDomainRow>('organization_domains')
    .where({ status: 'verified' })
    .where('last_checked_at', '<=', before)
    .whereRaw(servedSql('environment_id'))
    .orderBy('last_checked_at')
    .limit(limit);
}

/** The domain of the id, held until the transaction ends; null when there is none. */
export async function lockOrganizationDomain(scope: Scope, id: string): Promise<OrganizationDomainRow | null> {
  const query = table<OrganizationDomainRow>(scope, 'organization_domains').where({ id } as never);
  return ((await query.forUpdate().first()) as OrganizationDomainRow | undefined) ?? null;
}

export async function insertOrganizationDomain(scope: Scope, row: Partial<OrganizationDomainRow>): Promise<OrganizationDomainRow> {
  return insert<OrganizationDomainRow>(scope, 'organization_domains', row);
}

/** `versioned` false for the result of a look-up that changes no status. */
export async function updateOrganizationDomain(
  scope: Scope,
  id: string,
  changes: Partial<OrganizationDomainRow>,
  versioned = true,
): Promise<OrganizationDomainRow | null> {
  return update<OrganizationDomainRow>(scope, 'organization_domains', { id }, changes, versioned);
}

export async function deleteOrganizationDomain(scope: Scope, id: string): Promise<boolean> {
  return (await remove<OrganizationDomainRow>(scope, 'organization_domains', { id })) > 0;
}
