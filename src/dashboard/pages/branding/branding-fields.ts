import type { FieldSpec } from '../../parts/records/presentation.js';
import { logosLink, type LogoOwner } from './logo-link.js';
import { terms } from '../../parts/words.js';

/** The fields of branding that environments and clients share. */
export function brandingFields(nameHint: string, collection: LogoOwner): FieldSpec[] {
  return [
    { name: 'branding.name', label: terms.display_name, hint: nameHint, attributes: { maxlength: 100 } },
    {
      name: 'branding.logo_url',
      label: terms.logo,
      kind: 'url',
      hint: 'The https address of an image, best 32 pixels high.',
      link: (view) => logosLink(view, collection),
    },
    {
      name: 'branding.dark_logo_url',
      label: terms.logo_in_dark_mode,
      kind: 'url',
      hint: 'Used where the other logo isn’t visible on a dark background.',
      link: (view) => logosLink(view, collection),
    },
    {
      name: 'branding.primary_color',
      kind: 'color',
      label: 'Primary colour',
      hint: 'Such as #2b5fc7. Text colors are adjusted to stay readable.',
      attributes: { maxlength: 7, spellcheck: 'false' },
    },
  ];
}
