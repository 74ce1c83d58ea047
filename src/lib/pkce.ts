import { digest } from './digest.js';

const unreserved = /^[A-Za-z0-9\-._~]{43,128}$/;
const challenge = /^[A-Za-z0-9_-]{43}$/;

/** Whether the text can be an S256 challenge: base64url of 32 bytes, unpadded (RFC 7636 4.2). */
export const isCodeChallenge = (text: string): boolean => challenge.test(text);

/** Whether the text has the form of a verifier (RFC 7636 4.1). */
export const isCodeVerifier = (text: string): boolean => unreserved.test(text);

/** The S256 challenge of a verifier (RFC 7636 4.2). */
export const codeChallengeOf = (verifier: string): string => digest(verifier).toString('base64url');
