import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

/** Makes a new RSA pair of 2048 bits (RFC 7518 3.3 asks for no less). */
export type NewKeyPair = () => Promise<{ readonly publicKey: KeyObject; readonly privateKey: KeyObject }>;

const generate = promisify(generateKeyPair);

/** On the thread pool; takes 100 to 300 ms of processor time. */
export const newKeyPair: NewKeyPair = () => generate('rsa', { modulusLength: 2048 });
