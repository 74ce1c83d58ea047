import { z } from 'zod';
import type { SamlCertificateRow } from '../../db/tables/saml_certificates.js';
import { fullReach } from '../../domain/reach/reach.js';
import { activateCertificate, publishNextCertificate } from '../../domain/saml-certificates/operations.js';
import { mintSamlCertificate, type NewSamlCertificate } from '../../domain/saml-certificates/saml-certificates.js';
import { resource } from '../declaration.js';
import { equalTo, isoTime, stamps } from '../fields.js';

const status = z.enum(['next', 'primary', 'previous']);

export const saml_certificates = resource<SamlCertificateRow, Record<string, never>>({
  type: 'saml_certificate',
  path: 'saml_certificates',
  description:
    'The certificates by which SAML applications and providers know the environment. They are good for ten years and are rotated by hand; the first one is made when it is first needed.',
  attributes: z.object({
    status: status.meta({
      description:
        '`primary` signs; `next` is in the metadata and signs once it is activated; `previous` decrypts what providers encrypted for it.',
    }),
    pem: z.string().meta({ description: 'The certificate (X.509), as PEM.' }),
    expires_at: isoTime,
    ...stamps,
  }),
  // As for signing keys: the service alone has the private half.
  reach: { of: () => fullReach, create: 'plain' },
  settable: {},
  filters: { status: equalTo('status', status, 'Next, primary or previous.') },
  create: {
    prepare: (ctx) => mintSamlCertificate(ctx),
    run: async (tx, _actor, _input, _related, certificate) => ({
      row: await publishNextCertificate(tx, certificate as NewSamlCertificate),
    }),
  },
  actions: {
    activate: {
      method: 'PATCH',
      description:
        'Lets the next certificate sign from now on: applications and providers that know the one until now alone refuse what it signs. That one becomes previous, and an earlier previous one goes.',
      audit: 'activated',
      touch: 'plain',
      run: async (tx, _actor, row) => ({ row: await activateCertificate(tx, row) }),
    },
  },
  display: (certificate) => certificate.id,
});
