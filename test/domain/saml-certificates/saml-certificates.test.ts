import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { listSamlCertificates } from '../../../src/db/tables/saml_certificates.js';
import { samlKeys } from '../../../src/domain/saml-certificates/saml-certificates.js';
import { contextOf, sharedService } from '../../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);

test('the first use makes the primary certificate, once for all that come at once, and for ten years', async () => {
  const found = await Promise.all([samlKeys(ctx), samlKeys(ctx), samlKeys(ctx)]);
  expect(new Set(found.map(({ primary }) => primary.id)).size).toBe(1);
  const { primary } = found[0];
  const rows = await listSamlCertificates(ctx.scope);
  expect(rows.map(({ id, status }) => ({ id, status }))).toEqual([{ id: primary.id, status: 'primary' }]);
  const certificate = new X509Certificate(primary.pem);
  expect(certificate.checkPrivateKey(primary.privateKey)).toBe(true);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.ca).toBe(false);
  expect(certificate.subject).toBe(`CN=${new URL(ctx.environment.issuer).host}`);
  expect(new Date(certificate.validTo)).toEqual(primary.expires_at);
  expect(primary.expires_at.getUTCFullYear()).toBe(ctx.clock.now().getUTCFullYear() + 10);
  expect(rows[0]?.private_key_sealed.includes('PRIVATE KEY')).toBe(false);
});
