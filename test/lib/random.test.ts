import { expect, test } from 'vitest';
import { isUuid, randomDigits, randomToken, uuidv7 } from '../../src/lib/random.js';

test.each(['at_', 'rt_', 'cs_', 'ac_', 'dc_', ''] as const)('a token with the prefix %j carries 256 bits in base64url', (prefix) => {
  const token = randomToken(prefix);
  expect(token.slice(0, prefix.length)).toBe(prefix);
  expect(token.slice(prefix.length)).toMatch(/^[A-Za-z0-9_-]{43}$/);
});

test('tokens never repeat, across the batches they are cut from, and use all of their bits', () => {
  const tokens = Array.from({ length: 1000 }, () => randomToken(''));
  expect(new Set(tokens).size).toBe(1000);
  const bytes = tokens.map((token) => Buffer.from(token, 'base64url'));
  expect(bytes.every(({ length }) => length === 32)).toBe(true);
  // A bit that is set in no token of a thousand, or in all, isn't random: one run in 10^299 fails by chance.
  for (let i = 0; i < 256; i++) {
    const set = bytes.filter((token) => token[i >> 3]! & (1 << (i & 7))).length;
    expect(set).toBeGreaterThan(0);
    expect(set).toBeLessThan(1000);
  }
});

test('digits are as many as asked for, and each of the ten comes as often as the others', () => {
  for (const length of [1, 6, 40]) expect(randomDigits(length)).toMatch(new RegExp(`^\\d{${length}}$`));
  const counts = new Map<string, number>();
  for (const digit of randomDigits(100_000)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  // Ten standard deviations (95 each) around 10000. Taking bytes modulo 10 as they come would give 0 to 5 some 10156 each.
  for (const count of counts.values()) expect(Math.abs(count - 10_000)).toBeLessThan(950);
  expect(counts.size).toBe(10);
});

test('an id is a UUID version 7 of its time (RFC 9562 5.7, appendix A.6)', () => {
  const id = uuidv7(0x017f22e279b0);
  expect(id).toMatch(/^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(isUuid(id)).toBe(true);
});

test('ids made later sort later, those of one millisecond differ', () => {
  const now = Date.UTC(2026, 10, 21);
  const ids = Array.from({ length: 300 }, (_, i) => uuidv7(now + i));
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(Array.from({ length: 1000 }, () => uuidv7(now))).size).toBe(1000);
});

test.each([
  ['017f22e2-79b0-7cc3-98c4-dc0c0c07398f', true],
  ['017F22E2-79B0-7CC3-98C4-DC0C0C07398F', false],
  ['017f22e279b07cc398c4dc0c0c07398f', false],
  ['{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}', false],
  ['017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n', false],
  ['017f22e2-79b0-7cc3-98c4-dc0c0c07398g', false],
  ['', false],
])('%j could be an id of ours: %s', (text, expected) => expect(isUuid(text)).toBe(expected));
