import type { Knex } from 'knex';
import { rowFunctions, type RecordRow } from '../records.js';
import { remove, table, type Scope } from '../scope.js';
import { runSystem } from '../system.js';

/** A row of `saml_certificates`; `private_key_sealed` holds the private key as PEM (PKCS #8), sealed for `saml_certificates/<id>`. */
export type SamlCertificateRow = RecordRow & {
  status: 'next' | 'primary' | 'previous';
  /** X.509, self-signed. */
  pem: string;
  private_key_sealed: Buffer;
  expires_at: Date;
};

/** All certificates of the environment, the newest first. */
export const listSamlCertificates = async (scope: Scope): Promise<SamlCertificateRow[]> =>
  table<SamlCertificateRow>(scope, 'saml_certificates').orderBy('created_at', 'desc');

/** The unique indexes refuse a second primary and a second next certificate. */
export const { insert: insertSamlCertificate, update: updateSamlCertificate } = rowFunctions<SamlCertificateRow>('saml_certificates');

/** The environment's certificate of the status, held until the transaction ends. */
export const lockSamlCertificate = async (scope: Scope, status: 'primary' | 'next'): Promise<SamlCertificateRow | null> =>
  (await table<SamlCertificateRow>(scope, 'saml_certificates').where({ status }).forUpdate().first()) ?? null;

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
