import { constants, sign, verify, type KeyObject, type SignKeyObjectInput } from 'node:crypto';

/** The JWS algorithms that the service can sign with (RFC 7518 3.1, RFC 8037 3.1). */
export const signingAlgorithms = ['RS256', 'ES256', 'PS256', 'EdDSA'] as const;

export type SigningAlgorithm = (typeof signingAlgorithms)[number];

type Parameters = {
  readonly hash: 'sha256' | null;
  readonly options: Omit<SignKeyObjectInput, 'key'>;
  /** The hash of `at_hash` and its like: the one that the signature uses (OIDC Core 3.1.3.6). Ed25519 uses SHA-512 (RFC 8032 5.1). */
  readonly tokenHash: 'sha256' | 'sha512';
};

const parameters: Record<SigningAlgorithm, Parameters> = {
  RS256: { hash: 'sha256', options: {}, tokenHash: 'sha256' },
  // A JWS bears both halves of the signature side by side, not as ASN.1 (RFC 7518 3.4).
  ES256: { hash: 'sha256', options: { dsaEncoding: 'ieee-p1363' }, tokenHash: 'sha256' },
  // As long a salt as the hash (RFC 7518 3.5).
  PS256: { hash: 'sha256', options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }, tokenHash: 'sha256' },
  EdDSA: { hash: null, options: {}, tokenHash: 'sha512' },
};

/** What `at_hash` is made with where the ID token is signed so. */
export const tokenHashOf = (algorithm: SigningAlgorithm): 'sha256' | 'sha512' => parameters[algorithm].tokenHash;

/** The JWS signature of the input, made on the thread pool. */
export function signatureOf(algorithm: SigningAlgorithm, key: KeyObject, input: string): Promise<Buffer> {
  const { hash, options } = parameters[algorithm];
  return new Promise((resolve, reject) => {
    sign(hash, Buffer.from(input), { key, ...options }, (error, signature) => (error ? reject(error) : resolve(signature)));
  });
}

export function isSignatureOf(algorithm: SigningAlgorithm, key: KeyObject, input: string, signature: Buffer): boolean {
  const { hash, options } = parameters[algorithm];
  return verify(hash, Buffer.from(input), { key, ...options }, signature);
}
