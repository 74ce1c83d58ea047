import { identityProviderId } from '../../../domain/saml/identity-provider.js';
import type { Presentation } from '../../parts/records/presentation.js';
import { code, statusStates, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const certificateState = statusStates({
  next: ['info', terms.next],
  primary: ['good', terms.primary],
  previous: ['quiet', terms.previous],
});

export const samlCertificatesPresentation: Presentation = {
  path: 'saml_certificates',
  title: 'SAML certificates',
  under: 'advanced',
  one: 'SAML certificate',
  lead: 'What SAML applications and identity providers know this environment by. They last ten years, and you rotate them by hand.',
  empty: { title: 'No SAML certificates', text: 'The first one is made when a SAML application or connection needs it.' },
  columns: [
    { label: 'Certificate', value: (record) => code(record.id) },
    { label: terms.status, value: certificateState },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
    { label: terms.expires, value: (record, { now }) => time(record.attributes['expires_at'], now) },
  ],
  filters: [{ name: 'status', label: terms.status }],
  name: (record) => record.id,
  state: certificateState,
  showsId: false,
  summary: ({ attributes: a, id }, { now, req }) => [
    { label: 'Certificate', value: code(id, true) },
    { label: terms.created, value: time(a['created_at'], now) },
    { label: terms.expires, value: time(a['expires_at'], now) },
    { label: terms.metadata_url, value: code(identityProviderId(req.ctx.environment), true) },
  ],
  more: async (_view, { attributes: a }) => [
    { kind: 'code', id: 'pem', title: 'PEM', text: 'For applications that don’t read our metadata.', code: words(a['pem']).trim() },
  ],
  fields: [],
  create: {
    label: 'Generate next certificate',
    title: 'Generate next certificate',
    lead: 'It is in our metadata immediately but signs nothing until activated, so that every application can learn it first.',
    guarded: true,
    button: 'Generate next certificate',
  },
  edit: { when: () => false },
  actions: {
    activate: {
      label: 'Activate',
      when: (record) => record.attributes['status'] === 'next',
      confirm: [
        'This certificate signs everything from now on. Applications and providers that know only the current one refuse sign-ins until you give them this one.',
        'The current one stays, to decrypt. The one before it is deleted.',
      ],
      guarded: true,
      done: 'activated',
    },
  },
};
