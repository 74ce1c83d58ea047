import type { FieldSpec } from './presentation.js';

/** The fields of branding that environments and clients share. */
export function brandingFields(nameHint: string, section?: string): FieldSpec[] {
  const fields: FieldSpec[] = [
    { name: 'branding.name', label: 'Displayed name', hint: nameHint, attributes: { maxlength: 100 } },
    { name: 'branding.logo_url', label: 'Logo', kind: 'url', hint: 'The https address of an image, best 32 pixels high.' },
    { name: 'branding.dark_logo_url', label: 'Logo in dark mode', kind: 'url', hint: 'Where the other can not be seen on black.' },
    {
      name: 'branding.primary_color',
      kind: 'color',
      label: 'Primary colour',
      hint: 'Like #2b5fc7. Texts on and in it are adjusted so that they can be read.',
      attributes: { maxlength: 7, spellcheck: 'false' },
    },
  ];
  return section === undefined ? fields : fields.map((field) => ({ ...field, section }));
}
