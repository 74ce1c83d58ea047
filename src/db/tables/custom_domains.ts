import type { Knex } from 'knex';
import { rowFunctions, type RecordRow } from '../records.js';
import { table, update, type Scope } from '../scope.js';
import { servedSql } from '../served.js';

export type CustomDomainRow = RecordRow & {
  domain: string;
  status: 'pending' | 'verified' | 'failed';
  verification_token: string;
  is_primary: boolean;
  verified_at: Date | null;
  last_checked_at: Date | null;
  failure_reason: string | null;
  /** Since when the record of a verified domain has been missing; null while it is there. */
  missing_since: Date | null;
  /** Of the certificate that it shows: why browsers refuse it, and until when it lasts; null: not known. */
  certificate_problem: CertificateProblem | null;
  certificate_expires_at: Date | null;
  /** Until when tokens are taken of which it is the `iss`; null: it was no issuer, or is the present one. */
  issuer_until: Date | null;
  /** Whether passkeys may be made and used there, beside at the issuer. */
  accepts_passkeys: boolean;
};

/** `away`: nothing speaks TLS there. */
export const certificateProblems = ['away', 'name', 'expired', 'chain'] as const;
export type CertificateProblem = (typeof certificateProblems)[number];

export type SeenCertificate = Pick<CustomDomainRow, 'certificate_problem' | 'certificate_expires_at'>;

/** The verified domains of all environments; a domain is verified in one of them at most. */
export const listAllVerifiedDomains = async (knex: Knex): Promise<Pick<CustomDomainRow, 'domain' | 'environment_id'>[]> =>
  knex<CustomDomainRow>('custom_domains').where({ status: 'verified' }).select('domain', 'environment_id');

/** The verified domains of an environment, the primary one first. */
export const listVerifiedDomains = async (knex: Knex, environment_id: string): Promise<Pick<CustomDomainRow, 'domain' | 'is_primary'>[]> =>
  knex<CustomDomainRow>('custom_domains')
    .where({ environment_id, status: 'verified' })
    .orderBy('is_primary', 'desc')
    .select('domain', 'is_primary');

export type HostRow = Pick<CustomDomainRow, 'domain' | 'status' | 'is_primary' | 'issuer_until' | 'accepts_passkeys'>;

/** The domains of an environment that are for anything: those that are verified, and those that were its issuer. */
export const listHostsOf = async (knex: Knex, environment_id: string): Promise<HostRow[]> =>
  knex<CustomDomainRow>('custom_domains')
    .where({ environment_id })
    .whereRaw(`(status = 'verified' or issuer_until is not null)`)
    .orderBy('domain')
    .select('domain', 'status', 'is_primary', 'issuer_until', 'accepts_passkeys');

/** Verified domains of all environments that were last looked up before `before`, the longest ago first. */
export const listDomainsToCheck = async (knex: Knex, before: Date, limit: number): Promise<CustomDomainRow[]> =>
  knex<CustomDomainRow>('custom_domains')
    .where({ status: 'verified' })
    .where('last_checked_at', '<=', before)
    .whereRaw(servedSql('environment_id'))
    .orderBy('last_checked_at')
    .limit(limit);

/** The unique index refuses a domain that this environment has. */
export const {
  lock: lockCustomDomain,
  insert: insertCustomDomain,
  update: updateCustomDomain,
  remove: deleteCustomDomain,
} = rowFunctions<CustomDomainRow>('custom_domains');

/** Stores the time and result of a look-up that changes no status; neither version nor `updated_at` change. */
export const noteDomainLookup = async (
  scope: Scope,
  id: string,
  found: Pick<CustomDomainRow, 'last_checked_at' | 'failure_reason' | 'missing_since'> & Partial<SeenCertificate>,
): Promise<CustomDomainRow | null> => update<CustomDomainRow>(scope, 'custom_domains', { id }, found, false);

/** No domain is the primary one any more; tokens of the one that was are taken until `issuer_until`. False when none was. */
export async function clearPrimaryDomain(scope: Scope, { at, issuer_until }: { at: Date; issuer_until: Date }): Promise<boolean> {
  scope.touched.add('custom_domains');
  const cleared = await table<CustomDomainRow>(scope, 'custom_domains')
    .where({ is_primary: true } as never)
    .update({ is_primary: false, issuer_until, updated_at: at, version: scope.knex.raw('version + 1') } as never);
  return cleared > 0;
}
