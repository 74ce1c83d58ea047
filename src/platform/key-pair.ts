import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { SigningAlgorithm } from '../lib/signing-algorithm.js';

/** Makes a new key pair for the algorithm: RSA of 2048 bits (RFC 7518 3.3 asks for no less), P-256 or Ed25519. */
export type NewKeyPair = (algorithm: SigningAlgorithm) => Promise<{ readonly publicKey: KeyObject; readonly privateKey: KeyObject }>;

const generate = promisify(generateKeyPair);

/** On the thread pool; RSA takes 100 to 300 ms of processor time, the others less than one. */
export const newKeyPair: NewKeyPair = (algorithm) => {
  if (algorithm === 'ES256') return generate('ec', { namedCurve: 'P-256' });
  if (algorithm === 'EdDSA') return generate('ed25519');
  return generate('rsa', { modulusLength: 2048 });
};
