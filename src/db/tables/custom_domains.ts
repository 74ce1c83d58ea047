import type { Knex } from 'knex';

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
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** The verified domains of all environments; domains are unique over all of them. */
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
