import { isJpeg, isPng, isWebp, readJpeg, readPng, readWebp, type Pixels } from './raster.js';

/** The types of images that are taken, with the ends of their names. */
export const imageExtensions = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' } as const;

export type ImageType = keyof typeof imageExtensions;
export const imageTypes = Object.keys(imageExtensions) as [ImageType, ...ImageType[]];

export const maxImageBytes = 512 * 1024;
/** So wide and so high, in pixels: what a few bytes unfold to in the memory of browsers. */
const maxImagePixels = 4_096;

export type CheckedImage = { readonly content_type: ImageType; readonly bytes: Buffer };

/** Why it can't be shown, as a sentence. */
export type ImageProblem = { readonly problem: string };

function checked(name: string, content_type: ImageType, bytes: Buffer, pixels: Pixels | null): CheckedImage | ImageProblem {
  if (pixels === null || pixels.width === 0 || pixels.height === 0) return { problem: `The image is damaged, or is not ${name} alone.` };
  if (pixels.width > maxImagePixels || pixels.height > maxImagePixels)
    return { problem: `The image is more than ${maxImagePixels} pixels wide or high.` };
  return { content_type, bytes };
}

/** Checks an image by its content alone, which nothing is unpacked for: neither a name nor a stated type counts. */
export function checkImage(bytes: Buffer): CheckedImage | ImageProblem {
  if (bytes.length > maxImageBytes) return { problem: `The image is larger than ${maxImageBytes / 1024} KiB.` };
  if (isPng(bytes)) return checked('PNG', 'image/png', bytes, readPng(bytes));
  if (isJpeg(bytes)) return checked('JPEG', 'image/jpeg', bytes, readJpeg(bytes));
  if (isWebp(bytes)) return checked('WebP', 'image/webp', bytes, readWebp(bytes));
  return { problem: 'The image must be PNG, JPEG or WebP. Export another format, such as SVG, as PNG.' };
}
