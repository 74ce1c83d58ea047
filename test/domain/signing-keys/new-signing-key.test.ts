// The name of a new signing key.
import { generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { expect, test } from 'vitest';
import { generateSigningKey } from '../../../src/domain/signing-keys/signing-keys.js';

test('begins with no hyphen, which a command line takes for an option', async () => {
  const pairs = Array.from({ length: 1500 }, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
  const kids = await Promise.all(pairs.map(({ publicKey }) => calculateJwkThumbprint(publicKey.export({ format: 'jwk' }) as JWK)));
  const hyphen = kids.findIndex((kid) => kid.startsWith('-'));
  const other = kids.findIndex((kid) => !kid.startsWith('-'));
  expect(hyphen).toBeGreaterThanOrEqual(0);
  const made = [hyphen, hyphen, other].map((index) => pairs[index]);
  const crypto = { newKeyPair: async () => made.shift(), sealer: { seal: (text: string) => Buffer.from(text) } };
  expect((await generateSigningKey({ crypto } as never, 'ES256')).kid).toBe(kids[other]);
});
