import { randomBytes, randomFillSync } from 'node:crypto';

const secretLength = 32;
const secrets = Buffer.alloc(secretLength * 64);
let secretsUsed = secrets.length;

/**
 * `prefix` + 256 random bits in base64url; the prefix lets leak scanners recognise the kind of secret. The bits come from the system in
 * batches, one call of it for many tokens, and are wiped from the batch once used.
 */
export function randomToken(prefix: 'ar_' | 'at_' | 'rt_' | 'cs_' | 'ac_' | 'dc_' | 'it_' | 'scim_' | 'in_' | 'su_' | ''): string {
  if (secretsUsed === secrets.length) {
    randomFillSync(secrets);
    secretsUsed = 0;
  }
  const end = secretsUsed + secretLength;
  const text = secrets.toString('base64url', secretsUsed, end);
  secrets.fill(0, secretsUsed, end);
  secretsUsed = end;
  return prefix + text;
}

/** A decimal code of `length` digits, each uniformly random. */
export function randomDigits(length: number): string {
  let digits = '';
  while (digits.length < length) {
    for (const byte of randomBytes(length)) if (byte < 250 && digits.length < length) digits += String(byte % 10);
  }
  return digits;
}

/** Hexadecimal digits of a UUID that are random, but for the two bits of its variant. */
const randomDigitsOfUuid = 19;
const pool = Buffer.alloc(2048);
let digits = '';
let digitsUsed = 0;
let timeOfLast = -1;
let timePart = '';

/**
 * A UUID version 7 (RFC 9562 5.7) for the given time in milliseconds; ids made later sort later. Made several times for every request: the random bits come
 * from the system for two hundred together, as text, and the time becomes text once in a millisecond.
 */
export function uuidv7(now: number): string {
  if (digitsUsed + randomDigitsOfUuid > digits.length) {
    digits = randomFillSync(pool).toString('hex');
    digitsUsed = 0;
  }
  if (now !== timeOfLast) {
    const hex = now.toString(16).padStart(12, '0');
    timePart = `${hex.slice(0, 8)}-${hex.slice(8)}-7`;
    timeOfLast = now;
  }
  const at = digitsUsed;
  digitsUsed += randomDigitsOfUuid;
  // The variant is 10 in binary, before two random bits.
  const variant = '89ab'[Number.parseInt(digits[at] as string, 16) & 3] as string;
  return `${timePart}${digits.slice(at + 1, at + 4)}-${variant}${digits.slice(at + 4, at + 7)}-${digits.slice(at + 7, at + 19)}`;
}

/** A UUID of the same form for the time that follows from `seed` (10 bytes at least) alone: the same seed gives the same id. */
export function uuidv7Of(now: number, seed: Buffer): string {
  const bytes = Buffer.alloc(16);
  seed.copy(bytes, 6, 0, 10);
  bytes.writeUIntBE(now, 0, 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether the text is a UUID in the form that the service writes (lower case); anything else can't be an id of ours. */
export const isUuid = (text: string): boolean => uuidShape.test(text);

/** When a UUID of version 7 was made, in milliseconds. */
export const timeOfUuidv7 = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** A text of `length` letters of the alphabet (at most 128), each uniformly random. */
export function randomText(alphabet: string, length: number): string {
  const fair = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) if (byte < fair && text.length < length) text += alphabet[byte % alphabet.length];
  }
  return text;
}
