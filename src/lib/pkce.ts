import { digest } from './digest.js';

const unreserved = /^[A-Za-z0-9\-._~]{43,128}$/;
const challenge = /^[A-Za-z0-9_-]{43}$/;

/** Whether the text can be an S256 challenge: base64url of 32 bytes, unpadded (RFC 7636 4.2). */
export function isCodeChallenge(text: string): boolean {
  return challenge.test(text);
}

/** Whether the text has the form of a verifier (RFC 7636 4.1). */
export function isCodeVerifier(text: string): boolean {
  return unreserved.test(text);
}

/** The S256 challenge of a verifier (RFC 7636 4.2). */
export function codeChallengeOf(verifier: string): string {
  return digest(verifier).toString('base64url');
}
