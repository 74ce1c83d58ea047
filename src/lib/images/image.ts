import { isPng, isWebp, readPng, readWebp, type Pixels } from './raster.js';
import { sanitiseSvg, SvgProblem } from './svg.js';

/** The types of images that are taken, with the ends of their names. */
export const imageExtensions = { 'image/png': 'png', 'image/webp': 'webp', 'image/svg+xml': 'svg' } as const;

export type ImageType = keyof typeof imageExtensions;
export const imageTypes = Object.keys(imageExtensions) as [ImageType, ...ImageType[]];

/** So large an image may be, in bytes. */
export const maxImageBytes = 512 * 1024;
/** So wide and so high, in pixels: what a few bytes unfold to in the memory of browsers. */
export const maxImagePixels = 4_096;

/** An image that can be shown: its type, told by its content, and its bytes; those of an SVG are written anew. */
export type CheckedImage = { readonly content_type: ImageType; readonly bytes: Buffer; readonly removed: readonly string[] };

/** Why it can't be shown, as a sentence. */
export type ImageProblem = { readonly problem: string };

const utf8 = new TextDecoder('utf-8', { fatal: true });

function raster(content_type: ImageType, bytes: Buffer, pixels: Pixels | null): CheckedImage | ImageProblem {
  const name = content_type === 'image/png' ? 'PNG' : 'WebP';
  if (pixels === null || pixels.width === 0 || pixels.height === 0) return { problem: `The image is damaged, or is not ${name} alone.` };
  if (pixels.width > maxImagePixels || pixels.height > maxImagePixels)
    return { problem: `The image is more than ${maxImagePixels} pixels wide or high.` };
  return { content_type, bytes, removed: [] };
}

function svg(bytes: Buffer): CheckedImage | ImageProblem {
  try {
    const { text, removed } = sanitiseSvg(utf8.decode(bytes));
    return { content_type: 'image/svg+xml', bytes: Buffer.from(text), removed };
  } catch (error) {
    if (error instanceof SvgProblem) return { problem: `The image ${error.message}` };
    if (error instanceof TypeError) return { problem: 'The image is not UTF-8.' };
    throw error;
  }
}

/** Checks an image by its content alone: neither a name nor a stated type counts. PNG and WebP by their headers, which nothing is unpacked for. */
export function checkImage(bytes: Buffer): CheckedImage | ImageProblem {
  if (bytes.length > maxImageBytes) return { problem: `The image is larger than ${maxImageBytes / 1024} KiB.` };
  if (isPng(bytes)) return raster('image/png', bytes, readPng(bytes));
  if (isWebp(bytes)) return raster('image/webp', bytes, readWebp(bytes));
  // White space and a byte order mark may come before its first tag.
  if (/^(?:\u00ef\u00bb\u00bf)?\s*</.test(bytes.toString('latin1', 0, 1_024))) return svg(bytes);
  return { problem: 'The image must be PNG, WebP or SVG.' };
}
