// Which keys clients may sign with: sizes whose cost is bounded, parameters that are sound.
import { generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { importClientKey, importKeySet, publicKeySet } from '../../../src/domain/clients/key-set.js';
import { registeredKeys } from '../../../src/domain/clients/keys.js';

const jwkOf = (key: KeyObject): JsonWebKey => key.export({ format: 'jwk' });
const rsa = (modulusLength: number, publicExponent = 65_537) =>
  jwkOf(generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey);
const ec = (namedCurve: string) => jwkOf(generateKeyPairSync('ec', { namedCurve }).publicKey);
const ed25519 = jwkOf(generateKeyPairSync('ed25519').publicKey);
const p256 = ec('P-256');
const rsa2048 = rsa(2048);

const algorithms = (jwk: object) => importClientKey(jwk as Record<string, unknown>)?.algorithms ?? null;
/** A public RSA key that nobody holds the private part of. */
const longModulus = (bytes: number) => ({ kty: 'RSA', e: 'AQAB', n: Buffer.alloc(bytes, 0xff).toString('base64url') });

describe('taken', () => {
  test.each<[string, object, string[]]>([
    ['RSA 2048', rsa2048, ['RS256', 'PS256']],
    ['RSA 4096', longModulus(512), ['RS256', 'PS256']],
    ['P-256', p256, ['ES256']],
    ['Ed25519', ed25519, ['EdDSA', 'Ed25519']],
  ])('%s', (_name, jwk, expected) => {
    expect(algorithms(jwk)).toEqual(expected);
    expect(publicKeySet.safeParse({ keys: [jwk] }).success).toBe(true);
  });

  test('a key verifies only what it says that it is for (RFC 7517 4.2 to 4.4)', () => {
    expect(algorithms({ ...rsa2048, alg: 'PS256' })).toEqual(['PS256']);
    expect(algorithms({ ...rsa2048, alg: 'RS512' })).toEqual([]);
    expect(algorithms({ ...p256, use: 'enc' })).toEqual([]);
    expect(algorithms({ ...p256, key_ops: ['deriveKey'] })).toEqual([]);
    expect(algorithms({ ...p256, use: 'sig', key_ops: ['verify'] })).toEqual(['ES256']);
  });
});

describe('refused', () => {
  test.each<[string, object]>([
    ['RSA 1024', rsa(1024)],
    ['RSA with e = 3', rsa(2048, 3)],
    ['RSA with an exponent as long as its modulus', { ...rsa2048, e: rsa2048.n }],
    ['RSA beyond 4096', longModulus(513)],
    ['RSA of 16384', longModulus(2048)],
    ['RSA without a modulus', { kty: 'RSA', e: 'AQAB' }],
    ['P-384', ec('P-384')],
    ['secp256k1', ec('secp256k1')],
    ['a point that is not on the curve', { ...p256, x: Buffer.alloc(32, 1).toString('base64url') }],
    ['Ed448', jwkOf(generateKeyPairSync('ed448').publicKey)],
    ['X25519', jwkOf(generateKeyPairSync('x25519').publicKey)],
    ['a symmetric key', { kty: 'oct', k: 'c2VjcmV0' }],
    ['a private key', jwkOf(generateKeyPairSync('ed25519').privateKey)],
    ['no key', {}],
  ])('%s', (_name, jwk) => {
    expect(algorithms(jwk)).toBeNull();
    expect(publicKeySet.safeParse({ keys: [jwk] }).success).toBe(false);
  });

  test('more than ten keys, whether registered or fetched', () => {
    const set = (count: number) => ({ keys: Array.from({ length: count }, (_, kid) => ({ ...p256, kid: String(kid) })) });
    expect([publicKeySet.safeParse(set(10)).success, publicKeySet.safeParse(set(11)).success]).toEqual([true, false]);
    expect([importKeySet(set(10))?.length, importKeySet(set(11))]).toEqual([10, null]);
  });

  test('what is no set', () => {
    for (const value of [null, [], 'x', {}, { keys: {} }]) expect(importKeySet(value)).toBeNull();
    expect(importKeySet({ keys: [null, 'x', [], p256] })).toHaveLength(1);
  });
});

test('a registered set is imported once', () => {
  const set = { keys: [p256] };
  expect(registeredKeys(set)).toBe(registeredKeys(set));
});
