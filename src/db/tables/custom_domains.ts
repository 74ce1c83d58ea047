import type { Knex } from 'knex';
import { insert, remove, table, update, type Scope } from '../scope.js';

/** A row of `custom_domains`. */
export type CustomDomainRow = {
  environment_id: string;
  id: string;
  domain: string;
  status: 'pending' | 'verified' | 'failed';
  verification_token: string;
  is_primary: boolean;
  verified_at: Date | null;
  last_checked_at: Date | null;
  failure_reason: string | null;
  /** Since when the record of a verified domain has been missing; null while it is there. */
  missing_since: Date | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** The verified domains of all environments; a domain is verified in one of them at most. */
export async function listAllVerifiedDomains(knex: Knex): Promise<Pick<CustomDomainRow, 'domain' | 'environment_id'>[]> {
  return knex<CustomDomainRow>('custom_domains').where({ status: 'verified' }).select('domain', 'environment_id');
}

/** The verified domains of an environment, the primary one first. */
export async function listVerifiedDomains(knex: Knex, environment_id: string): Promise<Pick<CustomDomainRow, 'domain' | 'is_primary'>[]> {
  return knex<CustomDomainRow>('custom_domains')
    .where({ environment_id, status: 'verified' })
    .orderBy('is_primary', 'desc')
    .select('domain', 'is_primary');
}

/** Verified domains of all environments that were last looked up before `before`, the longest ago first. */
export async function listDomainsToCheck(knex: Knex, before: Date, limit: number): Promise<CustomDomainRow[]> {
  return knex<CustomDomainRow>('custom_domains')
    .where({ status: 'verified' })
    .where('last_checked_at', '<=', before)
    .orderBy('last_checked_at')
    .limit(limit);
}

/** The domain of the id, held until the transaction ends; null when there is none. */
export async function lockCustomDomain(scope: Scope, id: string): Promise<CustomDomainRow | null> {
  return (await table<CustomDomainRow>(scope, 'custom_domains').where({ id }).forUpdate().first()) ?? null;
}

/** Stores a domain. The unique index refuses one that this environment has. */
export async function insertCustomDomain(scope: Scope, row: Partial<CustomDomainRow>): Promise<CustomDomainRow> {
  return insert<CustomDomainRow>(scope, 'custom_domains', row);
}

/** Changes a domain and returns it, or null when there is no such domain. */
export async function updateCustomDomain(scope: Scope, id: string, changes: Partial<CustomDomainRow>): Promise<CustomDomainRow | null> {
  return update<CustomDomainRow>(scope, 'custom_domains', { id }, changes);
}

/** Stores the time and result of a look-up that changes no status; neither version nor `updated_at` change. */
export async function noteDomainLookup(
  scope: Scope,
  id: string,
  found: Pick<CustomDomainRow, 'last_checked_at' | 'failure_reason' | 'missing_since'>,
): Promise<CustomDomainRow | null> {
  return update<CustomDomainRow>(scope, 'custom_domains', { id }, found, false);
}

/** No domain is the primary one any more. */
export async function clearPrimaryDomain(scope: Scope, at: Date): Promise<void> {
  scope.touched.add('custom_domains');
  await table<CustomDomainRow>(scope, 'custom_domains')
    .where({ is_primary: true } as never)
    .update({ is_primary: false, updated_at: at, version: scope.knex.raw('version + 1') } as never);
}

/** Deletes a domain. */
export async function deleteCustomDomain(scope: Scope, id: string): Promise<boolean> {
  return (await remove<CustomDomainRow>(scope, 'custom_domains', { id })) > 0;
}
