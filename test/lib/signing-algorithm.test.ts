import { compactVerify, importJWK, CompactSign } from 'jose';
import { describe, expect, test } from 'vitest';
import { isSignatureOf, signatureOf, signingAlgorithms, tokenHashOf } from '../../src/lib/signing-algorithm.js';
import { newKeyPair } from '../../src/platform/key-pair.js';

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe.each(signingAlgorithms)('%s', (algorithm) => {
  test('what is signed here jose verifies, and the other way round (RFC 7515 5)', async () => {
    const { publicKey, privateKey } = await newKeyPair(algorithm);
    const input = `${part({ alg: algorithm })}.${part({ sub: 'somebody' })}`;
    const signature = await signatureOf(algorithm, privateKey, input);
    const theirs = await importJWK(publicKey.export({ format: 'jwk' }), algorithm);
    const { payload } = await compactVerify(`${input}.${signature.toString('base64url')}`, theirs);
    expect(JSON.parse(Buffer.from(payload).toString())).toEqual({ sub: 'somebody' });

    const made = await new CompactSign(Buffer.from('{}')).setProtectedHeader({ alg: algorithm }).sign(privateKey);
    const [head, body, tail] = made.split('.') as [string, string, string];
    expect(isSignatureOf(algorithm, publicKey, `${head}.${body}`, Buffer.from(tail, 'base64url'))).toBe(true);
    expect(isSignatureOf(algorithm, publicKey, `${head}.${body}x`, Buffer.from(tail, 'base64url'))).toBe(false);
  });
});

test('a key of RSA signs with RS256 and PS256, and neither is taken for the other (RFC 8725 3.1)', async () => {
  const { publicKey, privateKey } = await newKeyPair('PS256');
  expect(isSignatureOf('RS256', publicKey, 'text', await signatureOf('PS256', privateKey, 'text'))).toBe(false);
  expect(isSignatureOf('PS256', publicKey, 'text', await signatureOf('RS256', privateKey, 'text'))).toBe(false);
});

test('at_hash is made with the hash of the signature (OIDC Core 3.1.3.6)', () =>
  expect(signingAlgorithms.map(tokenHashOf)).toEqual(['sha256', 'sha256', 'sha256', 'sha512']));
