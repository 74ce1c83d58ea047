import { parseHex, readable } from '../../lib/contrast.js';
import { fontStacks } from '../../lib/fonts.js';
import type { Theme } from '../environments/branding.js';

/** What the HTML of mails is drawn with; colours as `#1a2b3c`, of a program's light and dark scheme. */
export type MailTheme = {
  /** Links and buttons: readable on what is behind them. */
  readonly accent: { readonly light: string; readonly dark: string };
  /** Around the text. */
  readonly backdrop: { readonly light: string; readonly dark: string };
  readonly radius: number;
  readonly font: string;
};

/** The two colours behind the text in views/mail/top.html.ejs. */
const paper = { light: 'ffffff', dark: '1b1d22' } as const;

/** The looks of the branding, or ours. */
export function mailTheme(theme: Partial<Theme> | null | undefined): MailTheme {
  const hex = (text: string | null | undefined) => parseHex(text ?? '');
  const [light, dark] = [hex(theme?.primary_color), hex(theme?.dark_primary_color)];
  return {
    accent: {
      light: light === null ? '#2b5fc7' : `#${readable(light, [paper.light], 4.5, 'black')}`,
      dark: (dark ?? light) === null ? '#8fb8ff' : `#${readable(dark ?? light ?? '', [paper.dark], 4.5, 'white')}`,
    },
    backdrop: { light: `#${hex(theme?.background_color) ?? paper.light}`, dark: `#${hex(theme?.dark_background_color) ?? paper.dark}` },
    radius: theme?.corner_radius ?? 8,
    font: fontStacks[theme?.font ?? 'system'],
  };
}
