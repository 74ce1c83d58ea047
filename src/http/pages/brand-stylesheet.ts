import type { Theme } from '../../domain/environments/branding.js';
import { contrast, parseHex, readable, shade, textOn } from '../../lib/contrast.js';
import { fontNames, fontStacks } from '../../lib/fonts.js';
import { own } from '../../lib/named.js';

/** The accent of environments without `branding.primary_color`: six hex digits. */
export const defaultAccent = '2b5fc7';

/** The surfaces that accents are checked against: `--surface` and `--ground` of `public/tokens.css`, light and dark. */
const surfaces = { light: ['ffffff', 'f5f6f8'], dark: ['1b1d22', '131519'] } as const;

const color = '([0-9a-f]{6})';
const address = new RegExp(
  `^accent/${color}(?:\\.dark-${color})?(?:\\.ground-${color})?(?:\\.night-${color})?(?:\\.radius-(\\d|1\\d|2[0-4]))?` +
    `(?:\\.font-(${fontNames.join('|')}))?(?:\\.scheme-(light|dark))?\\.css$`,
);

export type ColorScheme = 'light' | 'dark';

/**
 * The address of the stylesheet that carries the looks of an environment or a client, since the pages' policy allows no inline style: all of them stand in
 * the address, so that it may be cached for ever. `scheme` holds pages to one scheme, as previews show them.
 */
export function stylesheetPath(theme: Partial<Theme>, scheme?: ColorScheme): string {
  const hex = (text: string | null | undefined) => parseHex(text ?? '');
  const options = [
    ['dark', hex(theme.dark_primary_color)],
    ['ground', hex(theme.background_color)],
    ['night', hex(theme.dark_background_color)],
    ['radius', theme.corner_radius],
    ['font', theme.font],
    ['scheme', scheme],
  ].flatMap(([name, value]) => (value === null || value === undefined ? [] : [`.${name}-${value}`]));
  return `/assets/accent/${hex(theme.primary_color) ?? defaultAccent}${options.join('')}.css`;
}

/** The stylesheet of an address below `/assets/`; null for one that isn't of this kind. */
export function brandStylesheet(path: string): string | null {
  const found = address.exec(path);
  if (!found) return null;
  const [, accent = defaultAccent, dark, ground, night, radius, font, scheme] = found;
  const tokens = {
    ...accentTokens(accent, dark),
    ...backdropTokens(ground, night),
    ...(radius !== undefined && { 'radius-control': `${radius}px`, 'radius-card': `${Math.round(Number(radius) * 1.5)}px` }),
    ...(font !== undefined && { font: own(fontStacks, font) }),
  };
  const declarations = Object.entries(tokens).map(([name, value]) => `--${name}:${value}`);
  if (scheme !== undefined) declarations.push(`color-scheme:${scheme}`);
  return `@layer tokens{:root{${declarations.join(';')}}}\n`;
}

const either = (light: string, dark: string) => `light-dark(#${light},#${dark})`;

/**
 * The accent tokens for a colour of six hex digits. Fills keep the colour in light mode; in dark mode they have the colour for it, or are lightened. Text
 * and links are moved to at least 4.5:1 against every surface (WCAG 2.2, 1.4.3; in dark mode to 6:1, as hues look dimmer there), and text on the fill is
 * black or white by contrast.
 */
function accentTokens(hex: string, forDark?: string) {
  const text = { light: readable(hex, surfaces.light, 4.5, 'black'), dark: readable(forDark ?? hex, surfaces.dark, 6, 'white') };
  const fill = { light: hex, dark: forDark ?? text.dark };
  const on = { light: textOn(fill.light), dark: textOn(fill.dark) };
  return {
    accent: either(fill.light, fill.dark),
    'accent-hover': either(away(fill.light, on.light), away(fill.dark, on.dark)),
    'on-accent': either(on.light, on.dark),
    'accent-text': either(text.light, text.dark),
  };
}

/** What is around the form, and the text on it, black or white by contrast; a scheme without a colour keeps the ground that it has. */
function backdropTokens(ground?: string, night?: string) {
  if (ground === undefined && night === undefined) return {};
  const [light, dark] = [ground ?? surfaces.light[1], night ?? surfaces.dark[1]];
  return { backdrop: either(light, dark), 'on-backdrop': either(textOn(light), textOn(dark)) };
}

/** The hover colour of a fill (six hex digits): lightness moved away from that of the text on it, else towards it; still 4.5:1 to the text. */
function away(fill: string, on: string): string {
  const direction = on === 'ffffff' ? -1 : 1;
  const steps = [0.06, -0.06, -0.12, -0.18, -0.24].map((step) => shade(fill, step * direction));
  return steps.find((step) => contrast(step, fill) >= 1.08 && contrast(step, on) >= 4.5) ?? fill;
}
