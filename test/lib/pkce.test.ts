import { expect, test } from 'vitest';
import { codeChallengeOf, isCodeChallenge, isCodeVerifier } from '../../src/lib/pkce.js';

// RFC 7636, appendix B.
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

test('the challenge of RFC 7636 appendix B', () => expect(codeChallengeOf(verifier)).toBe(challenge));

test('any other verifier has another challenge', () => {
  for (const text of [`${verifier.slice(0, -1)}l`, `${verifier}a`, challenge, '']) expect(codeChallengeOf(text)).not.toBe(challenge);
});

test.each([
  ['x'.repeat(43), true],
  ['x'.repeat(128), true],
  ['aZ09-._~'.repeat(6), true],
  ['x'.repeat(42), false],
  ['x'.repeat(129), false],
  [`${'x'.repeat(43)}+`, false],
  [`${'x'.repeat(43)}\n`, false],
])('%j as a verifier: %s (RFC 7636 4.1)', (text, expected) => expect(isCodeVerifier(text)).toBe(expected));

test.each([
  [challenge, true],
  [`${challenge}=`, false],
  [challenge.replace('-', '+'), false],
  [challenge.slice(1), false],
  [`${challenge}a`, false],
  [`${challenge}\n`, false],
  ['', false],
])('%j as a challenge: %s (RFC 7636 4.2)', (text, expected) => expect(isCodeChallenge(text)).toBe(expected));
