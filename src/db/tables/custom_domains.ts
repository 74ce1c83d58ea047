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

/** The environment that a verified domain leads to, or null. Domains are unique over all environments. */
export async function findEnvironmentIdByDomain(knex: Knex, domain: string): Promise<string | null> {
  const row = await knex<CustomDomainRow>('custom_domains').where({ domain, status: 'verified' }).first('environment_id');
  return row?.environment_id ?? null;
}

/** The verified domains of an environment, the primary one first. */
export async function listVerifiedDomains(knex: Knex, environment_id: string): Promise<Pick<CustomDomainRow, 'domain' | 'is_primary'>[]> {
  return knex<CustomDomainRow>('custom_domains')
    .where({ environment_id, status: 'verified' })
    .orderBy('is_primary', 'desc')
    .select('domain', 'is_primary');
}
