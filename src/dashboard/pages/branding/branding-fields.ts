import { fontNames, type Font } from '../../../lib/fonts.js';
import { maxCornerRadius } from '../../../management/resources/branding.js';
import { formSection, type FieldSpec } from '../../parts/records/presentation.js';
import { logosLink, type LogoOwner } from './logo-link.js';
import { terms } from '../../parts/words.js';

const fontLabels: Readonly<Record<Font, string>> = {
  system: 'System',
  humanist: 'Humanist sans serif',
  geometric: 'Geometric sans serif',
  rounded: 'Rounded sans serif',
  serif: 'Serif',
  monospace: 'Monospace',
};

const color = (name: string, label: string, hint: string): FieldSpec => ({
  name: `branding.${name}`,
  kind: 'color',
  label,
  hint,
  attributes: { maxlength: 7, spellcheck: 'false' },
});

/** The fields of branding that environments and clients share, by section; `more` stands at the end. */
export function brandingSections(nameHint: string, collection: LogoOwner, more: readonly FieldSpec[]): ReturnType<typeof formSection>[] {
  const image = (name: string, label: string, hint: string): FieldSpec => ({
    name: `branding.${name}`,
    label,
    kind: 'url',
    hint,
    link: (view) => logosLink(view, collection, name),
  });
  return [
    formSection({ title: 'Name and logo' }, [
      { name: 'branding.name', label: terms.display_name, hint: nameHint, attributes: { maxlength: 100 } },
      image('logo_url', terms.logo, 'The https address of an image. It is shown 32 pixels high.'),
      image('dark_logo_url', terms.logo_in_dark_mode, 'If the other logo isn’t visible on a dark background.'),
      image('favicon_url', terms.favicon, 'The icon in the browser tab. Use a square image of at least 32 pixels.'),
    ]),
    formSection({ title: 'Colors', text: 'Text is adjusted to stay readable on every color.' }, [
      color('primary_color', 'Primary color', 'Buttons and links, such as #2b5fc7.'),
      color('dark_primary_color', 'Dark primary color', 'Leave empty for a lighter shade of the primary color.'),
      color('background_color', 'Background color', 'Around the form and around the text of emails.'),
      color('dark_background_color', 'Dark background color', 'In dark mode.'),
    ]),
    formSection({ title: 'Shape and font' }, [
      {
        name: 'branding.corner_radius',
        label: 'Corner radius',
        kind: 'number',
        hint: `In pixels: 0 for square corners, up to ${maxCornerRadius}. The default is 8.`,
        attributes: { maxlength: 2 },
      },
      {
        name: 'branding.font',
        label: 'Font',
        kind: 'select',
        hint: 'Uses fonts that devices already have, so pages load no font files.',
        choices: async () => fontNames.map((value) => ({ value, label: fontLabels[value] })),
      },
    ]),
    formSection({ title: 'Links' }, more),
  ];
}
