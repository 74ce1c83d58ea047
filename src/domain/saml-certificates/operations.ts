import {
  deletePreviousSamlCertificates,
  insertSamlCertificate,
  lockSamlCertificate,
  updateSamlCertificate,
  type SamlCertificateRow,
} from '../../db/tables/saml_certificates.js';
import type { Context } from '../context.js';
import { invalidTransition, Refusal, refuseDuplicates } from '../refusal.js';
import type { NewSamlCertificate } from './saml-certificates.js';

const taken = 'There is a next certificate already: activate it first.';

/** Adds a certificate to our metadata, which signs nothing yet. @throws {Refusal} 409 while there is a next one */
export async function publishNextCertificate(tx: Context, certificate: NewSamlCertificate): Promise<SamlCertificateRow> {
  if (await lockSamlCertificate(tx.scope, 'next')) throw invalidTransition(taken);
  return refuseDuplicates({ saml_certificates_next: { code: 'invalid_transition', detail: taken } }, () =>
    insertSamlCertificate(tx.scope, { ...certificate, status: 'next' }),
  );
}

/** Lets the next certificate sign from now on. The one until now is kept, to decrypt; earlier ones go. @throws {Refusal} 409 */
export async function activateCertificate(tx: Context, certificate: SamlCertificateRow): Promise<SamlCertificateRow> {
  if (certificate.status !== 'next') throw invalidTransition('Only a next certificate can be activated.');
  const updated_at = tx.clock.now();
  await deletePreviousSamlCertificates(tx.scope);
  const primary = await lockSamlCertificate(tx.scope, 'primary');
  if (primary) await updateSamlCertificate(tx.scope, primary.id, { status: 'previous', updated_at });
  const activated = await updateSamlCertificate(tx.scope, certificate.id, { status: 'primary', updated_at });
  if (!activated) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such certificate.' });
  return activated;
}
