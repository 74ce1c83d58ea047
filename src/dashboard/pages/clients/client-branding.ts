import { subjectOf } from '../../parts/records/presentation.js';
import { terms } from '../../parts/words.js';
import { brandingSections } from '../branding/branding-fields.js';

export const clientBranding = subjectOf(
  {
    name: 'branding',
    title: terms.branding,
    text: 'How sign-in pages and emails look for this application. Empty fields use the environment’s branding.',
  },
  brandingSections('On its sign-in pages and emails, instead of the environment’s.', 'clients', [
    { name: 'branding.support_email', label: 'Support email', kind: 'email', attributes: { maxlength: 254 } },
  ]),
);
