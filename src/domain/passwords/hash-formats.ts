import { createCipheriv, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { verify as argon2Verify } from 'argon2';
import { ownCost, workOf, type HashEngine } from './hash-work.js';

/** What a Firebase project signs its hashes with: without it none of them can be checked. Both in base64. */
export type FirebaseKey = { readonly signer_key: string; readonly salt_separator: string };

/** What checks of some formats need beside the hash. */
export type CheckTools = { readonly bcrypt: (hash: string, password: string) => Promise<boolean>; readonly firebase: FirebaseKey | null };

/** A hash that was read: what a check of it costs, and the check. */
export type ReadHash = {
  readonly engine: HashEngine;
  /** KiB times passes of argon2; other algorithms by the time that they take. */
  readonly work: number;
  /** The key of {@link FirebaseKey} that it names. */
  readonly key_id: string | null;
  matches(password: Buffer, tools: CheckTools): Promise<boolean>;
};

/** Why a hash isn't taken. */
export type HashRefusal = 'unsupported_hash' | 'hash_too_expensive';

/** A format of password hashes that is taken from other systems. */
export type HashFormat = {
  readonly name: string;
  readonly form: string;
  readonly bounds: string;
  readonly from: string;
  /** How its hashes begin. */
  readonly begins: RegExp;
  read(text: string): ReadHash | HashRefusal;
};

const derivePbkdf2 = promisify(pbkdf2);
const deriveScrypt = promisify<Buffer, Buffer, number, object, Buffer>(scrypt);

const base64 = '[A-Za-z0-9+/_.-]+={0,2}';
/** Bytes of base64 in each of its spellings: of URLs, and passlib's with a dot. */
const bytesOf = (text: string) => Buffer.from(text.replaceAll('.', '+'), 'base64');
const same = (one: Buffer, other: Buffer) => one.length === other.length && timingSafeEqual(one, other);

/** Work of a hundred rounds of PBKDF2 for a block of the digest's length, and that length. The database's `password_hash_work` has the same. */
const pbkdf2Digests = { sha1: { work: 25, bytes: 20 }, sha256: { work: 25, bytes: 32 }, sha512: { work: 60, bytes: 64 } } as const;
type Pbkdf2Digest = keyof typeof pbkdf2Digests;
const digestOf = (name: string | undefined): Pbkdf2Digest | null =>
  name !== undefined && Object.hasOwn(pbkdf2Digests, name) ? (name as Pbkdf2Digest) : null;

type Pbkdf2 = { readonly digest: Pbkdf2Digest | null; readonly rounds: number; readonly salt: Buffer; readonly hash: Buffer };

function readPbkdf2({ digest, rounds, salt, hash }: Pbkdf2): ReadHash | HashRefusal {
  if (digest === null || rounds < 1_000 || salt.length < 1 || hash.length < 16 || hash.length > 64) return 'unsupported_hash';
  if (rounds > 1_500_000) return 'hash_too_expensive';
  const { work, bytes } = pbkdf2Digests[digest];
  return {
    engine: 'pbkdf2',
    work: Math.floor((work * rounds * Math.ceil(hash.length / bytes)) / 100),
    key_id: null,
    matches: async (password) => same(await derivePbkdf2(password, salt, rounds, hash.length, digest), hash),
  };
}

const argon2Form = /^\$argon2(?:id|i|d)\$(?:v=(?:16|19)\$)?((?:[mtp]=\d{1,10},?){3})\$[A-Za-z0-9+/]{11,86}\$([A-Za-z0-9+/]{22,86})$/;

function readArgon2(text: string): ReadHash | HashRefusal {
  const found = argon2Form.exec(text);
  if (!found || found[2]!.length % 4 === 1) return 'unsupported_hash';
  const parameter = Object.fromEntries(found[1]!.split(',').map((pair) => pair.split('=')));
  const [memory, passes, lanes] = [Number(parameter.m), Number(parameter.t), Number(parameter.p)];
  if (!(lanes >= 1 && passes >= 1 && memory >= 8 * lanes)) return 'unsupported_hash';
  if (lanes > 16 || passes > 16 || memory > 262_144 || memory * passes > 16 * workOf(ownCost)) return 'hash_too_expensive';
  return { engine: 'argon2', work: memory * passes, key_id: null, matches: (password) => argon2Verify(text, password) };
}

/** The work of bcrypt at cost 0, by which one of cost 10 takes as long as three hashes of ours. */
const bcryptWork = 114;

function readBcrypt(text: string): ReadHash | HashRefusal {
  const cost = Number(/^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(text)?.[1] ?? 0);
  if (cost < 4) return 'unsupported_hash';
  if (cost > 14) return 'hash_too_expensive';
  return {
    engine: 'bcrypt',
    work: bcryptWork * 2 ** cost,
    key_id: null,
    matches: (password, { bcrypt }) => bcrypt(text, password.toString('utf8')),
  };
}

const phcPbkdf2 = new RegExp(`^\\$pbkdf2-(sha1|sha256|sha512)\\$i=(\\d{1,9})(?:,l=\\d{1,3})?\\$(${base64})\\$(${base64})$`);
const djangoPbkdf2 = new RegExp(`^pbkdf2_(sha1|sha256)\\$(\\d{1,9})\\$([^$]{1,128})\\$(${base64})$`);

function readAspnet(text: string): ReadHash | HashRefusal {
  const encoded = /^aspnet\$((?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(text)?.[1];
  const bytes = Buffer.from(encoded ?? '', 'base64');
  if (bytes[0] === 0 && bytes.length === 49)
    return readPbkdf2({ digest: 'sha1', rounds: 1_000, salt: bytes.subarray(1, 17), hash: bytes.subarray(17) });
  if (bytes[0] !== 1 || bytes.length < 13) return 'unsupported_hash';
  const saltEnd = 13 + bytes.readUInt32BE(9);
  const digest = digestOf(['sha1', 'sha256', 'sha512'][bytes.readUInt32BE(1)]);
  return readPbkdf2({ digest, rounds: bytes.readUInt32BE(5), salt: bytes.subarray(13, saltEnd), hash: bytes.subarray(saltEnd) });
}

const firebaseForm = new RegExp(`^\\$firebase-scrypt\\$ln=(\\d{1,2}),r=(\\d{1,2})(?:,k=([0-9a-f-]{36}))?\\$(${base64})\\$(${base64})$`);

/** Firebase's own scrypt: what the password derives encrypts the project's key, and that is the hash. */
async function matchesFirebase(
  password: Buffer,
  salt: Buffer,
  cost: { N: number; r: number },
  hash: Buffer,
  key: FirebaseKey,
): Promise<boolean> {
  const salted = Buffer.concat([salt, bytesOf(key.salt_separator)]);
  const derived = await deriveScrypt(password, salted, 64, { ...cost, p: 1, maxmem: 2 * 128 * cost.N * cost.r });
  const cipher = createCipheriv('aes-256-ctr', derived.subarray(0, 32), Buffer.alloc(16));
  return same(Buffer.concat([cipher.update(bytesOf(key.signer_key)), cipher.final()]), hash);
}

function readFirebase(text: string): ReadHash | HashRefusal {
  const [, ln, r, key_id = null, salt = '', hash = ''] = firebaseForm.exec(text) ?? [];
  if (!(Number(ln) >= 1 && Number(r) >= 1)) return 'unsupported_hash';
  const cost = { N: 2 ** Number(ln), r: Number(r) };
  if (128 * cost.N * cost.r > 64 * 1024 * 1024) return 'hash_too_expensive';
  return {
    engine: 'scrypt',
    work: Math.floor((34 * cost.N * cost.r) / 100),
    key_id,
    matches: async (password, { firebase }) => firebase !== null && matchesFirebase(password, bytesOf(salt), cost, bytesOf(hash), firebase),
  };
}

/** The formats of password hashes that are taken; docs/reference/password-hashes.md follows. The first one that says how a hash begins reads it. */
export const hashFormats: readonly HashFormat[] = [
  {
    name: 'argon2',
    form: '`$argon2id$v=19$m=19456,t=2,p=1$salt$hash`, also `argon2i` and `argon2d` (PHC string format)',
    bounds: '256 MiB, 16 passes, 16 lanes, and 16 times the work of a hash of ours',
    from: 'this service, Keycloak from 24 on, Django with Argon2',
    begins: /^\$argon2/,
    read: readArgon2,
  },
  {
    name: 'bcrypt',
    form: '`$2a$`, `$2b$` or `$2y$`, as in `$2b$10$` and 53 characters',
    bounds: 'cost 4 to 14',
    from: 'Auth0, PHP, Rails, Spring',
    begins: /^\$2[aby]\$/,
    read: readBcrypt,
  },
  {
    name: 'pbkdf2',
    form: '`$pbkdf2-sha256$i=27500$salt$hash`, also `sha1` and `sha512`; salt and hash in base64',
    bounds: '1,000 to 1,500,000 rounds, a hash of 16 to 64 bytes',
    from: 'Keycloak before 24',
    begins: /^\$pbkdf2-/,
    read(text) {
      const [, digest, rounds, salt = '', hash = ''] = phcPbkdf2.exec(text) ?? [];
      return readPbkdf2({ digest: digestOf(digest), rounds: Number(rounds), salt: bytesOf(salt), hash: bytesOf(hash) });
    },
  },
  {
    name: 'django',
    form: '`pbkdf2_sha256$600000$salt$hash`, also `pbkdf2_sha1`; the salt as it is, the hash in base64',
    bounds: 'those of `pbkdf2`',
    from: 'Django',
    begins: /^pbkdf2_/,
    read(text) {
      const [, digest, rounds, salt = '', hash = ''] = djangoPbkdf2.exec(text) ?? [];
      return readPbkdf2({ digest: digestOf(digest), rounds: Number(rounds), salt: Buffer.from(salt), hash: bytesOf(hash) });
    },
  },
  {
    name: 'aspnet',
    form: '`aspnet$` and the column `PasswordHash` as it is (base64), version 2 or 3',
    bounds: 'those of `pbkdf2`',
    from: 'ASP.NET Core Identity',
    begins: /^aspnet\$/,
    read: readAspnet,
  },
  {
    name: 'firebase_scrypt',
    form: '`$firebase-scrypt$ln=14,r=8$salt$hash`, with the project’s `signer_key` and `salt_separator` in the import',
    bounds: '64 MiB',
    from: 'Firebase Authentication',
    begins: /^\$firebase-scrypt\$/,
    read: readFirebase,
  },
];

/** What a check of the hash costs and does, or why such a hash isn't taken. */
export const readHash = (text: string): ReadHash | HashRefusal =>
  hashFormats.find(({ begins }) => begins.test(text))?.read(text) ?? 'unsupported_hash';

/** The hash if it can be checked at a bearable cost. */
export function readableHash(text: string): ReadHash | null {
  const read = readHash(text);
  return typeof read === 'string' ? null : read;
}

/** The work of a check of a stored hash; null for one that isn't taken. The database's `password_hash_work` says the same of imported hashes. */
export const passwordHashWork = (text: string): number | null => readableHash(text)?.work ?? null;

/** Names the key that a hash of Firebase is checked with, in place of one that it named before. */
export const withFirebaseKey = (text: string, key_id: string): string =>
  text.replace(/^(\$firebase-scrypt\$ln=\d+,r=\d+)(?:,k=[^$]*)?/, (_all, cost: string) => `${cost},k=${key_id}`);
