import type { Knex } from 'knex';
import { insert, remove, table, update, type Scope } from '../scope.js';
import { runSystem } from '../system.js';

/** A row of `saml_certificates`; `private_key_sealed` holds the private key as PEM (PKCS #8), sealed for `saml_certificates/<id>`. */
export type SamlCertificateRow = {
  environment_id: string;
  id: string;
  status: 'next' | 'primary' | 'previous';
  /** X.509, self-signed. */
  pem: string;
  private_key_sealed: Buffer;
  expires_at: Date;
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** All certificates of the environment, the newest first. */
export async function listSamlCertificates(scope: Scope): Promise<SamlCertificateRow[]> {
  return table<SamlCertificateRow>(scope, 'saml_certificates').orderBy('created_at', 'desc');
}

/** Stores a certificate. The unique indexes refuse a second primary and a second next one. */
export async function insertSamlCertificate(scope: Scope, row: Partial<SamlCertificateRow>): Promise<SamlCertificateRow> {
  return insert<SamlCertificateRow>(scope, 'saml_certificates', row);
}

export async function updateSamlCertificate(
  scope: Scope,
  id: string,
  changes: Pick<SamlCertificateRow, 'status' | 'updated_at'>,
): Promise<SamlCertificateRow | null> {
  return update<SamlCertificateRow>(scope, 'saml_certificates', { id }, changes);
}

/** The environment's certificate of the status, held until the transaction ends. */
export async function lockSamlCertificate(scope: Scope, status: 'primary' | 'next'): Promise<SamlCertificateRow | null> {
  return (await table<SamlCertificateRow>(scope, 'saml_certificates').where({ status }).forUpdate().first()) ?? null;
}

export async function deletePreviousSamlCertificates(scope: Scope): Promise<void> {
  await remove<SamlCertificateRow>(scope, 'saml_certificates', { status: 'previous' });
}

/** A certificate that signs or is about to, with the slug of its environment. */
export type WatchedSamlCertificate = Pick<SamlCertificateRow, 'id' | 'status' | 'expires_at'> & { readonly environment: string };

/** The primary and next certificates of all environments. */
export async function listWatchedSamlCertificates(knex: Knex): Promise<WatchedSamlCertificate[]> {
  const text = `select c.id, c.status, c.expires_at, e.slug as environment
    from saml_certificates c join environments e on e.id = c.environment_id where c.status in ('primary', 'next') order by e.slug, c.status`;
  return runSystem<WatchedSamlCertificate>(knex, { name: 'saml_certificates.watched', text }, []);
}
