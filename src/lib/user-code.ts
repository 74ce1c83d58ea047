import { randomBytes } from 'node:crypto';

/** Twenty letters, no vowels: none is taken for another, and no word comes about (RFC 8628 6.1). */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const length = 8;

const shape = new RegExp(`^[${letters}]{${length}}$`);
/** The largest multiple of the number of letters that a byte holds: bytes from there on would favour the first letters. */
const fair = 256 - (256 % letters.length);

/** Eight letters at random, 34 bits, as they are kept: without a dash. */
export function newUserCode(): string {
  let code = '';
  while (code.length < length) {
    for (const byte of randomBytes(length)) if (byte < fair && code.length < length) code += letters[byte % letters.length];
  }
  return code;
}

/** What somebody typed, in any case, with spaces and dashes anywhere, as it is kept; null when it can't be a code (RFC 8628 6.1). */
export function readUserCode(typed: string): string | null {
  const code = typed.replaceAll(/[\s\p{Pd}]+/gu, '').toUpperCase();
  return shape.test(code) ? code : null;
}

/** The code as it is shown: `WDJB-MJHT`. */
export const showUserCode = (code: string): string => `${code.slice(0, length / 2)}-${code.slice(length / 2)}`;
