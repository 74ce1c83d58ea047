import type { Request } from 'express';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Content codings (RFC 9110 8.4.1) that what rarely changes is sent in, the one that makes it smallest first. */
export type Coding = 'br' | 'gzip';

const compress: Record<Coding, (bytes: Buffer) => Promise<Buffer>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 9 }),
};

/** The bytes in each coding, made when it is asked for first, and kept. */
export type Coded = (coding: Coding) => Promise<Buffer>;

export function createCoded(bytes: Buffer): Coded {
  const made = new Map<Coding, Promise<Buffer>>();
  return (coding) => {
    const known = made.get(coding) ?? compress[coding](bytes);
    made.set(coding, known);
    return known;
  };
}

/** The coding that the caller takes (RFC 9110 12.5.3); null: none of them. */
export function codingFor(req: Request): Coding | null {
  const found = req.acceptsEncodings('br', 'gzip', 'identity');
  return found === 'br' || found === 'gzip' ? found : null;
}

/** The entity tag of what is sent in a coding: another representation has another one (RFC 9110 8.8.3). */
export const codedTag = (etag: string, coding: Coding | null): string => (coding === null ? etag : etag.replace(/"$/, `-${coding}"`));
