/** A colour as sRGB channels, 0 to 1. */
type Rgb = readonly [number, number, number];

/** Perceptual lightness 0 to 1, chroma, and hue in radians (OKLCH, CSS Color 4 section 9). */
type Oklch = { l: number; c: number; h: number };

const hexPattern = /^#?([0-9a-f]{6})$/i;

/** The six lower-case digits of `#rrggbb` or `rrggbb`; null for anything else. */
export const parseHex = (text: string): string | null => hexPattern.exec(text)?.[1]?.toLowerCase() ?? null;

/** The WCAG 2.2 contrast ratio of two colours given as six hex digits: 1 to 21. */
export function contrast(a: string, b: string): number {
  const [lighter, darker] = [luminance(channels(a)), luminance(channels(b))].sort((x, y) => y - x) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

/** Black or white, whichever reads better on the colour; one of them always reaches 4.5:1. */
export const textOn = (background: string): 'ffffff' | '000000' =>
  contrast(background, 'ffffff') >= contrast(background, '000000') ? 'ffffff' : '000000';

/**
 * The colour itself when it reaches `ratio` against every background, else the nearest lightness of the same hue that does,
 * moving towards black or white.
 */
export function readable(colour: string, backgrounds: readonly string[], ratio: number, towards: 'black' | 'white'): string {
  const reaches = (candidate: string) => backgrounds.every((background) => contrast(candidate, background) >= ratio);
  if (reaches(colour)) return colour;
  const { l, c, h } = toOklch(channels(colour));
  const end = towards === 'black' ? 0 : 1;
  for (let step = 1; step < 100; step++) {
    const candidate = toHex(intoGamut({ l: l + ((end - l) * step) / 100, c, h }));
    if (reaches(candidate)) return candidate;
  }
  return towards === 'black' ? '000000' : 'ffffff';
}

/** The same hue, lighter (positive) or darker (negative) by that much OKLCH lightness. */
export function shade(colour: string, by: number): string {
  const { l, c, h } = toOklch(channels(colour));
  return toHex(intoGamut({ l: Math.min(1, Math.max(0, l + by)), c, h }));
}

function channels(hex: string): Rgb {
  const number = Number.parseInt(hex, 16);
  return [((number >> 16) & 255) / 255, ((number >> 8) & 255) / 255, (number & 255) / 255];
}

const toHex = (rgb: Rgb): string =>
  rgb
    .map((value) =>
      Math.round(value * 255)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('');

const linear = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const companded = (value: number) => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);

const luminance = (rgb: Rgb): number => 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);

function toOklch([r, g, b]: Rgb): Oklch {
  const [lr, lg, lb] = [linear(r), linear(g), linear(b)];
  const l = Math.cbrt(0.4122214708 * lr + 0.5363325363 * lg + 0.0514459929 * lb);
  const m = Math.cbrt(0.2119034982 * lr + 0.6806995451 * lg + 0.1073969566 * lb);
  const s = Math.cbrt(0.0883024619 * lr + 0.2817188376 * lg + 0.6299787005 * lb);
  const a = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
  const bb = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
  return { l: 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, c: Math.hypot(a, bb), h: Math.atan2(bb, a) };
}

function fromOklch({ l, c, h }: Oklch): Rgb {
  const [a, b] = [c * Math.cos(h), c * Math.sin(h)];
  const ll = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const mm = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const ss = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    companded(4.0767416621 * ll - 3.3077115913 * mm + 0.2309699292 * ss),
    companded(-1.2684380046 * ll + 2.6097574011 * mm - 0.3413193965 * ss),
    companded(-0.0041960863 * ll - 0.7034186147 * mm + 1.707614701 * ss),
  ];
}

/** Less chroma until sRGB can show it; lightness and hue stay. */
function intoGamut(colour: Oklch): Rgb {
  for (let { c } = colour; c > 0; c -= 0.004) {
    const rgb = fromOklch({ ...colour, c });
    if (rgb.every((value) => value >= -0.0005 && value <= 1.0005)) return clamp(rgb);
  }
  return clamp(fromOklch({ ...colour, c: 0 }));
}

const clamp = (rgb: Rgb): Rgb => rgb.map((value) => Math.min(1, Math.max(0, value))) as unknown as Rgb;
