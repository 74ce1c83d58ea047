import type { Knex } from 'knex';
import { rowFunctions, type RecordRow } from '../records.js';
import { table, type Scope } from '../scope.js';
import { servedSql } from '../served.js';

export type OrganizationDomainRow = RecordRow & {
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
};

/** The verified domains of all organizations of the environment. */
export const listVerifiedOrganizationDomains = async (
  scope: Scope,
): Promise<Pick<OrganizationDomainRow, 'id' | 'organization_id' | 'domain' | 'connection_id'>[]> =>
  (await table<OrganizationDomainRow>(scope, 'organization_domains')
    .where({ status: 'verified' } as never)
    .orderBy('domain')
    .select('id', 'organization_id', 'domain', 'connection_id')) as never;

/** Verified domains of all environments that were last looked up before `before`, the longest ago first. */
export const listOrganizationDomainsToCheck = async (knex: Knex, before: Date, limit: number): Promise<OrganizationDomainRow[]> =>
  knex<OrganizationDomainRow>('organization_domains')
    .where({ status: 'verified' })
    .where('last_checked_at', '<=', before)
    .whereRaw(servedSql('environment_id'))
    .orderBy('last_checked_at')
    .limit(limit);

export const {
  lock: lockOrganizationDomain,
  insert: insertOrganizationDomain,
  update: updateOrganizationDomain,
  remove: deleteOrganizationDomain,
} = rowFunctions<OrganizationDomainRow>('organization_domains');
