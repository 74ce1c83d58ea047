import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { equalDigests, keyedDigest } from './digest.js';
import { memo } from './memo.js';

/**
 * What is sealed: each purpose has a key of its own, and `aad` begins with it. The first ones are tables with a sealed column
 * (`db/tables/sealed_columns.ts`); the others travel in addresses, forms and cookies: for an hour at most, a device for 400 days.
 */
export const sealPurposes = [
  'signing_keys',
  'webhooks',
  'log_streams',
  'signal_streams',
  'connections',
  'idempotency_keys',
  'mails',
  'sso_flows',
  'authenticators',
  'sign_ins',
  'authorization-request',
  'logout-request',
  'setup',
  'sso-answer',
  'sso-link',
  'sso-test',
  'password-review',
  'device',
  'device-request',
  'saml_certificates',
  'password_hash_keys',
  'provider_tokens',
  'approvals',
] as const;

/** What a keyed digest is for: each purpose has a key of its own. */
export const digestPurposes = [
  'passcode',
  'password_reset_link',
  'refresh successor',
  'refresh token',
  'csrf',
  'cursor',
  'sso-browser',
  'webauthn challenge',
  'demo',
  'user code',
  'dpop nonce',
  'backup',
  'password decoy',
  'approval hint',
] as const;

type SealPurpose = (typeof sealPurposes)[number];
type DigestPurpose = (typeof digestPurposes)[number];

/** Where a sealed value belongs, such as `webhooks/<id>` or `setup <environment id>`. */
export type Aad = `${SealPurpose}${'/' | ' '}${string}`;
/** What a digest is for; a cursor's goes on with the list that it belongs to. */
export type DigestUse = DigestPurpose | `cursor ${string}`;

/** A sealed value that can't be opened: sealed with another key or with other AAD, or altered. */
export class SealError extends Error {
  /** @param key_id the key that the value names; null when it names none */
  constructor(readonly key_id: string | null = null) {
    const by = key_id === null ? '' : ` (it names the key ${key_id})`;
    super(`sealed value${by} can not be opened with SECRET_KEY or SECRET_KEY_PREVIOUS`);
    this.name = 'SealError';
  }
}

/** Seals what must be read back (signing keys, webhook and provider secrets) with AES-256-GCM. */
export type Sealer = {
  /** The id of SECRET_KEY: eight hexadecimal digits, derived by HKDF. */
  readonly key_id: string;
  /** Ids of all keys that can open: SECRET_KEY first, then those of SECRET_KEY_PREVIOUS. */
  readonly key_ids: readonly string[];
  /** The first bytes of every value that is sealed with SECRET_KEY: the magic and the key's id. */
  readonly header: Buffer;
  /** Encrypts with AES-256-GCM. `aad` is authenticated along (additional authenticated data): a value copied to another row doesn't open there. */
  seal(plain: string, aad: Aad): Buffer;
  /** @throws {SealError} */
  open(sealed: Buffer, aad: Aad): string;
  /** `seal` and `open` as base64url text, for a URL or a form field; `openText` returns null instead of throwing, since the text comes from a request. */
  sealText(plain: string, aad: Aad): string;
  openText(sealed: string, aad: Aad): string | null;
  /** HMAC-SHA-256 of `value` with the key of the purpose, for example of a passcode or as a CSRF token. */
  digest(use: DigestUse, value: string): Buffer;
  /** `digest` under SECRET_KEY, then under each earlier key. */
  digests(use: DigestUse, value: string): readonly Buffer[];
  /** Whether `presented` is one of them; in constant time. */
  isDigest(use: DigestUse, value: string, presented: Buffer): boolean;
};

/** Every value begins with these two bytes and the four of its key's id. */
const magic = Buffer.from('SK');
const idLength = 4;
const ivLength = 12;
const tagLength = 16;
const headerLength = magic.length + idLength;

/** A SECRET_KEY with the keys that follow from it (HKDF, RFC 5869): one for each purpose. */
class MasterKey {
  readonly id: string;
  readonly header: Buffer;
  readonly #material: Buffer;

  constructor(text: string) {
    this.#material = Buffer.from(text, 'base64');
    const id = this.derive('identity-provider key id').subarray(0, idLength);
    this.id = id.toString('hex');
    this.header = Buffer.concat([magic, id]);
  }

  readonly derive = memo((label: string) => Buffer.from(hkdfSync('sha256', this.#material, '', label, 32)));

  sealing = (aad: Aad) => this.derive(`identity-provider seal ${purposeOf(aad)}`);
  digesting = (use: DigestUse) => this.derive(`identity-provider digest ${use.startsWith('cursor ') ? 'cursor' : use}`);
  /** The single key of releases without purposes; values sealed with it don't name their key. */
  unnamedSealing = () => this.derive('seal');
  unnamedDigesting = () => this.derive('digest');
}

const purposeOf = (aad: Aad) => aad.slice(0, aad.search(/[/ ]/));

function decrypt(key: Buffer, box: Buffer, additional: Buffer): string | null {
  if (box.length < ivLength + tagLength) return null;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, box.subarray(0, ivLength), { authTagLength: tagLength });
    decipher.setAAD(additional);
    decipher.setAuthTag(box.subarray(ivLength, ivLength + tagLength));
    return decipher.update(box.subarray(ivLength + tagLength), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}

function encrypt(key: MasterKey, plain: string, aad: Aad): Buffer {
  const iv = randomBytes(ivLength);
  const cipher = createCipheriv('aes-256-gcm', key.sealing(aad), iv, { authTagLength: tagLength });
  cipher.setAAD(Buffer.concat([key.header, Buffer.from(aad)]));
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return Buffer.concat([key.header, iv, cipher.getAuthTag(), body]);
}

/** The id of the key that a sealed value names; null for a value of earlier releases, which names none. */
export function keyIdOf(sealed: Buffer): string | null {
  const named = sealed.length >= headerLength + ivLength + tagLength && sealed.subarray(0, magic.length).equals(magic);
  return named ? sealed.subarray(magic.length, headerLength).toString('hex') : null;
}

/**
 * @param secretKey 32 random bytes in base64; `previous` are other keys that open, and never seal.
 * @throws {SealError} from `open` for a value that none of the keys has sealed
 */
export function createSealer(secretKey: string, previous: readonly string[] = []): Sealer {
  const current = new MasterKey(secretKey);
  const keys = [current, ...previous.map((text) => new MasterKey(text))].filter(
    (key, index, all) => all.findIndex(({ id }) => id === key.id) === index,
  );
  const open = (sealed: Buffer, aad: Aad): string | null => {
    const named = keys.find(({ header }) => header.equals(sealed.subarray(0, headerLength)));
    if (named) {
      const additional = Buffer.concat([named.header, Buffer.from(aad)]);
      const plain = decrypt(named.sealing(aad), sealed.subarray(headerLength), additional);
      if (plain !== null) return plain;
    }
    // A value that names no key may begin with any bytes, those of a name too.
    for (const key of keys) {
      const plain = decrypt(key.unnamedSealing(), sealed, Buffer.from(aad));
      if (plain !== null) return plain;
    }
    return null;
  };
  const digest = (key: MasterKey, use: DigestUse, value: string) => keyedDigest(key.digesting(use), `${use}\0${value}`);
  const digests = (use: DigestUse, value: string) => [
    ...keys.map((key) => digest(key, use, value)),
    ...keys.map((key) => keyedDigest(key.unnamedDigesting(), `${use}\0${value}`)),
  ];
  return {
    key_id: current.id,
    key_ids: keys.map(({ id }) => id),
    header: current.header,
    seal: (plain, aad) => encrypt(current, plain, aad),
    open(sealed, aad) {
      const plain = open(sealed, aad);
      if (plain === null) throw new SealError(keyIdOf(sealed));
      return plain;
    },
    sealText: (plain, aad) => encrypt(current, plain, aad).toString('base64url'),
    openText: (sealed, aad) => (/^[\w-]+$/.test(sealed) ? open(Buffer.from(sealed, 'base64url'), aad) : null),
    digest: (use, value) => digest(current, use, value),
    digests,
    isDigest: (use, value, presented) => digests(use, value).some((one) => equalDigests(one, presented)),
  };
}
