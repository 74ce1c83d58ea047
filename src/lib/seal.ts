import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { keyedDigest } from './digest.js';

/** A sealed value that can't be opened: made with another key, for another place, or changed. */
export class SealError extends Error {
  constructor() {
    super('sealed value can not be opened with SECRET_KEY or SECRET_KEY_PREVIOUS');
    this.name = 'SealError';
  }
}

/** Seals what must be read back (signing keys, webhook and provider secrets) with AES-256-GCM. */
export type Sealer = {
  /** `place` names where the value belongs, such as `webhooks/<id>`; moved elsewhere it doesn't open. */
  seal(plain: string, place: string): Buffer;
  /** @throws {SealError} */
  open(sealed: Buffer, place: string): string;
  /** The same as text, for a URL or a form field; null instead of an error, because it comes back from outside. */
  sealText(plain: string, place: string): string;
  openText(sealed: string, place: string): string | null;
  /** A keyed digest that only this service can make, e.g. of a passcode, or a CSRF token of a session. */
  digest(purpose: string, value: string): Buffer;
};

type Keys = { readonly seal: Buffer; readonly digest: Buffer };

const deriveKeys = (secretKey: string): Keys => {
  const derive = (info: string) => Buffer.from(hkdfSync('sha256', Buffer.from(secretKey, 'base64'), '', info, 32));
  return { seal: derive('seal'), digest: derive('digest') };
};

const ivLength = 12;
const tagLength = 16;

function openWith(key: Buffer, sealed: Buffer, place: string): string | null {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivLength));
    decipher.setAAD(Buffer.from(place));
    decipher.setAuthTag(sealed.subarray(ivLength, ivLength + tagLength));
    return decipher.update(sealed.subarray(ivLength + tagLength), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}

/** @param secretKey 32+ bytes in base64; `previous` still opens what was sealed before a change of key. */
export function createSealer(secretKey: string, previous: string | null = null): Sealer {
  const current = deriveKeys(secretKey);
  const opening = previous === null ? [current] : [current, deriveKeys(previous)];
  const open = (sealed: Buffer, place: string): string | null => {
    if (sealed.length < ivLength + tagLength) return null;
    for (const keys of opening) {
      const plain = openWith(keys.seal, sealed, place);
      if (plain !== null) return plain;
    }
    return null;
  };
  const seal = (plain: string, place: string) => {
    const iv = randomBytes(ivLength);
    const cipher = createCipheriv('aes-256-gcm', current.seal, iv);
    cipher.setAAD(Buffer.from(place));
    const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), body]);
  };
  return {
    seal,
    open(sealed, place) {
      const plain = open(sealed, place);
      if (plain === null) throw new SealError();
      return plain;
    },
    sealText: (plain, place) => seal(plain, place).toString('base64url'),
    openText: (sealed, place) => (/^[\w-]+$/.test(sealed) ? open(Buffer.from(sealed, 'base64url'), place) : null),
    digest: (purpose, value) => keyedDigest(current.digest, `${purpose}\0${value}`),
  };
}
