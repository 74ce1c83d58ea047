import { hash } from 'node:crypto';

/** The left half of a hash of a token or a code, as `at_hash` and `c_hash` bear it (OIDC Core 3.1.3.6, 3.3.2.11): the ID token and it came together. */
export function halfHash(algorithm: 'sha256' | 'sha384' | 'sha512', text: string): string {
  const digits = hash(algorithm, text, 'hex');
  return Buffer.from(digits.slice(0, digits.length / 2), 'hex').toString('base64url');
}
