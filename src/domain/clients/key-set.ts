import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { compactVerify, errors } from 'jose';
import { z } from 'zod';
import { jsonObject, type JsonObject } from '../../lib/json-object.js';

/** The algorithms with which clients may sign assertions and request objects; never a symmetric one, never `none` (RFC 8725 3.1). */
export const clientSigningAlgorithms = ['RS256', 'ES256', 'PS256', 'EdDSA', 'Ed25519'] as const;
export type ClientSigningAlgorithm = (typeof clientSigningAlgorithms)[number];

/** How many keys a client may have: each may have to be tried for a JWT without `kid`. */
const maxKeys = 10;
/** Base64url of 4096 bits, and a little. Longer ones aren't even parsed: verifying costs what the key's size says. */
const maxModulusLength = 690;

/** Members of a JWK that are secret, or that make it symmetric (RFC 7518 6). */
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

export type ClientKey = {
  readonly kid: string | null;
  readonly key: KeyObject;
  /** Which signatures it may verify; none for a key that is for encryption. */
  readonly algorithms: readonly ClientSigningAlgorithm[];
};

/** The algorithms of a key of bearable size and sound parameters, or null. */
function algorithmsOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): readonly ClientSigningAlgorithm[] | null {
  if (type === 'ed25519') return ['EdDSA', 'Ed25519'];
  if (type === 'ec') return details?.namedCurve === 'prime256v1' ? ['ES256'] : null;
  const bits = details?.modulusLength ?? 0;
  // Another exponent may be as long as the modulus, and makes verifying a thousand times dearer; 3 forgives too much.
  const sound = type === 'rsa' && bits >= 2048 && bits <= 4096 && details?.publicExponent === 65_537n;
  return sound ? ['RS256', 'PS256'] : null;
}

/** The key as registered (RFC 7517 4), or null when it isn't one of those that clients may use. */
export function importClientKey(jwk: JsonObject): ClientKey | null {
  if (secretMembers.some((name) => Object.hasOwn(jwk, name))) return null;
  if (typeof jwk['n'] === 'string' && jwk['n'].length > maxModulusLength) return null;
  let key: KeyObject;
  try {
    key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
  } catch {
    return null;
  }
  const { kid, alg, use, key_ops } = jwk;
  const algorithms = algorithmsOf(key);
  if (algorithms === null) return null;
  const verifies = (use === undefined || use === 'sig') && (!Array.isArray(key_ops) || key_ops.includes('verify'));
  const named = typeof alg === 'string' ? algorithms.filter((one) => one === alg) : algorithms;
  return { kid: typeof kid === 'string' ? kid : null, key, algorithms: verifies ? named : [] };
}

/** The keys of a set (RFC 7517 5); those that clients may not use are left out. Null for one of too many keys, or that is no set. */
export function importKeySet(set: unknown, most: number = maxKeys): readonly ClientKey[] | null {
  const keys = (set as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys) || keys.length > most) return null;
  return keys.flatMap((key) => {
    const jwk = jsonObject(key);
    return (jwk && importClientKey(jwk)) ?? [];
  });
}

/**
 * What one of the keys has signed, out of the JSON of a JWS; several may come into question when it names no `kid`.
 * @throws {errors.JOSEError | TypeError | SyntaxError} when none of them has, and for what is no JWS of JSON
 */
export async function signedBy(keys: readonly ClientKey[], jws: string, alg: string, kid: string | undefined): Promise<unknown> {
  const fitting = keys.filter((key) => (kid === undefined || key.kid === kid) && key.algorithms.includes(alg as never));
  for (const { key } of fitting) {
    const result = await compactVerify(jws, key, { algorithms: [alg] }).catch((error: unknown) => {
      if (error instanceof errors.JWSSignatureVerificationFailed) return null;
      throw error;
    });
    if (result) return JSON.parse(Buffer.from(result.payload).toString('utf8')) as unknown;
  }
  throw new errors.JWSSignatureVerificationFailed();
}

const publicKey = z
  .looseObject({ kty: z.enum(['RSA', 'EC', 'OKP']) })
  .refine((key) => !secretMembers.some((name) => Object.hasOwn(key, name)), { message: 'must hold public keys only', abort: true })
  .refine((key) => importClientKey(key) !== null, 'must be RSA of 2048 to 4096 bits with e = 65537 (AQAB), P-256, or Ed25519');

/** The keys that a client registers by value (RFC 7591 2, `jwks`): public ones, of the kinds that the algorithms above need. */
export const publicKeySet = z.object({
  keys: z.array(publicKey).min(1, 'must hold a key').max(maxKeys, `must hold at most ${maxKeys} keys`),
});
