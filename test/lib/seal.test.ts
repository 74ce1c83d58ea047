import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createSealer, SealError } from '../../src/lib/seal.js';

const newKey = () => randomBytes(32).toString('base64');
const key = newKey();
const sealer = createSealer(key);
const place = 'webhooks/1';

describe('a sealed value', () => {
  test.each(['', 'whsec_abc', 'caf\u00e9 \u{1f510}', 'x'.repeat(100_000)])(
    'opens with the key and at the place it was made for',
    (plain) => {
      expect(sealer.open(sealer.seal(plain, place), place)).toBe(plain);
      expect(sealer.openText(sealer.sealText(plain, place), place)).toBe(plain);
      expect(createSealer(key).open(sealer.seal(plain, place), place)).toBe(plain);
    },
  );

  test('does not show what it holds, nor that two hold the same', () => {
    const [one, other] = [sealer.seal('secret value', place), sealer.seal('secret value', place)];
    expect(one.includes('secret')).toBe(false);
    expect(one.equals(other)).toBe(false);
  });

  test('does not open elsewhere, nor with another key', () => {
    const sealed = sealer.seal('secret', place);
    expect(() => sealer.open(sealed, 'webhooks/2')).toThrow(SealError);
    expect(() => sealer.open(sealed, '')).toThrow(SealError);
    expect(() => createSealer(newKey()).open(sealed, place)).toThrow(SealError);
  });

  test('does not open when one bit of it is changed, or a byte is missing or added', () => {
    const sealed = sealer.seal('secret', place);
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed);
      changed[i]! ^= 0x80;
      expect(() => sealer.open(changed, place), `byte ${i}`).toThrow(SealError);
    }
    expect(() => sealer.open(sealed.subarray(0, -1), place)).toThrow(SealError);
    expect(() => sealer.open(Buffer.concat([sealed, Buffer.alloc(1)]), place)).toThrow(SealError);
    expect(() => sealer.open(sealed.subarray(0, 27), place)).toThrow(SealError);
    expect(() => sealer.open(Buffer.alloc(0), place)).toThrow(SealError);
  });

  test('the error tells nothing of the value', () => {
    expect(new SealError().message).toBe('sealed value can not be opened with SECRET_KEY or SECRET_KEY_PREVIOUS');
  });
});

describe('a sealed text', () => {
  test('goes into a URL as it is', () => {
    expect(sealer.sealText('secret', place)).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  test('from outside is null when it is not ours', () => {
    const text = sealer.sealText('secret', place);
    const broken = ['', 'x', `${text}=`, `${text} `, text.slice(1), `${text}AAAA`, randomBytes(60).toString('base64url')];
    for (const it of broken) expect(sealer.openText(it, place)).toBeNull();
    expect(sealer.openText(text, 'webhooks/2')).toBeNull();
  });
});

describe('a change of the key', () => {
  const next = createSealer(newKey(), key);

  test('opens what the previous one sealed, seals with the new one alone', () => {
    expect(next.open(sealer.seal('old', place), place)).toBe('old');
    expect(next.openText(sealer.sealText('old', place), place)).toBe('old');
    expect(() => sealer.open(next.seal('new', place), place)).toThrow(SealError);
  });

  test('a key before the previous one opens nothing', () => {
    expect(() => createSealer(newKey(), newKey()).open(sealer.seal('old', place), place)).toThrow(SealError);
  });
});

describe('a keyed digest', () => {
  test('is the same for one purpose and value, another for any other or another key', () => {
    const one = sealer.digest('passcode', '123456');
    expect(one).toEqual(createSealer(key).digest('passcode', '123456'));
    expect(one).toHaveLength(32);
    for (const other of [
      sealer.digest('csrf', '123456'),
      sealer.digest('passcode', '123457'),
      sealer.digest('passcode1', '23456'),
      createSealer(newKey()).digest('passcode', '123456'),
    ])
      expect(one.equals(other)).toBe(false);
  });
});
