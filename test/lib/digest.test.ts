import { expect, test } from 'vitest';
import { digest, equalDigests, keyedDigest } from '../../src/lib/digest.js';

test('digest is SHA-256 of the UTF-8 text (FIPS 180-4, example "abc")', () => {
  expect(digest('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(digest('').toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(digest('caf\u00e9')).not.toEqual(digest('cafe\u0301'));
});

test('keyedDigest is HMAC-SHA-256 (RFC 4231 4.3)', () => {
  const expected = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843';
  expect(keyedDigest('Jefe', 'what do ya want for nothing?').toString('hex')).toBe(expected);
  expect(keyedDigest(Buffer.from('Jefe'), 'what do ya want for nothing?').toString('hex')).toBe(expected);
});

test('digests are equal only if every byte is, and of one length', () => {
  const one = digest('one');
  const changed = Buffer.from(one);
  changed[31]! ^= 1;
  expect(equalDigests(one, digest('one'))).toBe(true);
  expect(equalDigests(one, changed)).toBe(false);
  expect(equalDigests(one, one.subarray(0, 31))).toBe(false);
  expect(equalDigests(Buffer.alloc(0), one)).toBe(false);
});
