export type Pixels = { readonly width: number; readonly height: number };

const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
/** Length, type, checksum. */
const pngFrame = 12;

export const isPng = (bytes: Buffer): boolean => bytes.subarray(0, pngSignature.length).equals(pngSignature);

/**
 * What the header of a PNG says (Portable Network Graphics 11.2.2). Null: it isn't one from its first byte to its last, so that nothing else hides
 * behind it. Nothing is decompressed.
 */
export function readPng(bytes: Buffer): Pixels | null {
  let at = pngSignature.length;
  let pixels: Pixels | null = null;
  while (at + pngFrame <= bytes.length) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const end = at + pngFrame + length;
    if (end > bytes.length) return null;
    if (pixels === null) {
      if (type !== 'IHDR' || length !== 13) return null;
      pixels = { width: bytes.readUInt32BE(at + 8), height: bytes.readUInt32BE(at + 12) };
    }
    if (type === 'IEND') return end === bytes.length ? pixels : null;
    at = end;
  }
  return null;
}

export const isJpeg = (bytes: Buffer): boolean => bytes.toString('latin1', 0, 3) === '\u00ff\u00d8\u00ff';

/** Where the next marker of a JPEG begins after compressed data, in which a 0xff is followed by 0 or by a restart marker (ITU-T T.81 B.1.1). */
function markerAfterScan(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(0xff, from);
  while (at >= 0 && (bytes[at + 1] === 0 || ((bytes[at + 1] ?? 0) & 0xf8) === 0xd0)) at = bytes.indexOf(0xff, at + 2);
  return at;
}

/** What the frame header of a JPEG says (ITU-T T.81 B.2.2). Null: it isn't one from its first byte to its last. Nothing is decompressed. */
export function readJpeg(bytes: Buffer): Pixels | null {
  let at = 2;
  let pixels: Pixels | null = null;
  while (at >= 0 && at + 2 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xd9) return at + 2 === bytes.length ? pixels : null;
    if (at + 10 > bytes.length) return null;
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    // Of the SOF markers between, DHT, JPG and DAC are none.
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame && pixels !== null) return null;
    if (isFrame) pixels = { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    at = marker === 0xda ? markerAfterScan(bytes, end) : end;
  }
  return null;
}

export const isWebp = (bytes: Buffer): boolean => bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';

/** Pixels by the first chunk of a WebP file (RFC 9649 2.5, 2.6, 2.7); null for another one. */
function webpPixels(type: string, data: Buffer): Pixels | null {
  if (type === 'VP8X' && data.length >= 10) return { width: data.readUIntLE(4, 3) + 1, height: data.readUIntLE(7, 3) + 1 };
  if (type === 'VP8L' && data.length >= 5 && data[0] === 0x2f) {
    const bits = data.readUInt32LE(1);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  // A key frame (RFC 6386 9.1).
  if (type === 'VP8 ' && data.length >= 10 && data.readUIntBE(3, 3) === 0x9d012a)
    return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
  return null;
}

/** What the header of a WebP file says (RFC 9649 2.3). Null: it isn't one from its first byte to its last. Nothing is decompressed. */
export function readWebp(bytes: Buffer): Pixels | null {
  if (bytes.length < 20 || bytes.readUInt32LE(4) + 8 !== bytes.length) return null;
  let at = 12;
  let pixels: Pixels | null = null;
  while (at + 8 <= bytes.length) {
    const length = bytes.readUInt32LE(at + 4);
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (data.length < length) return null;
    pixels ??= webpPixels(bytes.toString('latin1', at, at + 4), data);
    if (pixels === null) return null;
    at += 8 + length + (length % 2);
  }
  return at === bytes.length ? pixels : null;
}
