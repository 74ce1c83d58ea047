import type { FieldSpec } from './presentation.js';
import { logosLink, type LogoOwner } from './logo-place.js';
import { hints, terms } from './words.js';

/** The fields of branding that environments and clients share. */
export function brandingFields(nameHint: string, collection: LogoOwner, section?: string): FieldSpec[] {
  const fields: FieldSpec[] = [
    { name: 'branding.name', label: terms.display_name, hint: nameHint, attributes: { maxlength: 100 } },
    {
      name: 'branding.logo_url',
      label: terms.logo,
      kind: 'url',
      hint: hints.branding_logo_url,
      link: (look) => logosLink(look, collection),
    },
    {
      name: 'branding.dark_logo_url',
      label: terms.logo_in_dark_mode,
      kind: 'url',
      hint: hints.branding_dark_logo_url,
      link: (look) => logosLink(look, collection),
    },
    {
      name: 'branding.primary_color',
      kind: 'color',
      label: terms.primary_colour,
      hint: hints.branding_primary_color,
      attributes: { maxlength: 7, spellcheck: 'false' },
    },
  ];
  return section === undefined ? fields : fields.map((field) => ({ ...field, section }));
}
