import { createCipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createSealer, digestPurposes, keyIdOf, SealError, sealPurposes, type Aad } from '../../src/lib/seal.js';

const key = () => randomBytes(32).toString('base64');
const [one, two, three] = [key(), key(), key()] as [string, string, string];
const place = 'webhooks/1' as const;

/** What releases before values named their key made. */
function sealUnnamed(secretKey: string, plain: string, where: string): Buffer {
  const derived = Buffer.from(hkdfSync('sha256', Buffer.from(secretKey, 'base64'), '', 'seal', 32));
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', derived, iv);
  cipher.setAAD(Buffer.from(where));
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}
const digestUnnamed = (secretKey: string, use: string, value: string) =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', Buffer.from(secretKey, 'base64'), '', 'digest', 32)))
    .update(`${use}\0${value}`)
    .digest();

describe('a sealed value', () => {
  test('names its key, and opens for its place alone', () => {
    const sealer = createSealer(one);
    const sealed = sealer.seal('secret', place);
    expect(sealer.open(sealed, place)).toBe('secret');
    expect([keyIdOf(sealed), sealer.key_ids]).toEqual([sealer.key_id, [sealer.key_id]]);
    expect(sealed.subarray(0, sealer.header.length)).toEqual(sealer.header);
    for (const other of ['webhooks/2', 'connections/1', 'mails/1'] as const) expect(() => sealer.open(sealed, other)).toThrow(SealError);
    expect(sealer.openText(sealer.sealText('secret', 'setup 1'), 'setup 1')).toBe('secret');
    expect(sealer.openText(sealer.sealText('secret', 'setup 1'), 'setup 2')).toBeNull();
  });

  test('any changed, missing or added byte refuses it', () => {
    const sealer = createSealer(one, [two]);
    const sealed = sealer.seal('secret', place);
    for (let index = 0; index < sealed.length; index++) {
      const changed = Buffer.from(sealed);
      changed[index] = (changed[index] as number) ^ 1;
      expect(() => sealer.open(changed, place)).toThrow(SealError);
      expect(() => sealer.open(sealed.subarray(0, index), place)).toThrow(SealError);
    }
    expect(() => sealer.open(Buffer.concat([sealed, Buffer.alloc(1)]), place)).toThrow(SealError);
    for (const text of ['', '!', 'a', 'AAAA', `${sealer.sealText('x', 'setup 1')}=`]) expect(sealer.openText(text, 'setup 1')).toBeNull();
  });

  test('opens with any listed key, is sealed with the first alone, and says which key it lacks (attack 24.248)', () => {
    const [k1, k2, k3] = [createSealer(one), createSealer(two, [one]), createSealer(three, [two, one, three, one])];
    const sealed = k1.seal('secret', place);
    expect([k2.open(sealed, place), k3.open(sealed, place)]).toEqual(['secret', 'secret']);
    expect(k3.key_ids).toEqual([k3.key_id, k2.key_id, k1.key_id]);
    expect(keyIdOf(k3.seal('secret', place))).toBe(k3.key_id);
    expect(() => k1.open(k3.seal('secret', place), place)).toThrow(`names the key ${k3.key_id}`);
    // The next key may be listed before anything is sealed with it.
    expect(createSealer(one, [two]).open(k2.seal('secret', place), place)).toBe('secret');
  });

  test('of before values named their key opens still, with any listed key, whatever it begins with', () => {
    const sealer = createSealer(three, [two, one]);
    for (const earlier of [one, two, three]) {
      const sealed = sealUnnamed(earlier, 'secret', place);
      expect([sealer.open(sealed, place), keyIdOf(sealed)]).toEqual(['secret', null]);
      expect(sealer.openText(sealUnnamed(earlier, 'secret', 'setup 1').toString('base64url'), 'setup 1')).toBe('secret');
    }
    expect(() => createSealer(one).open(sealUnnamed(two, 'secret', place), place)).toThrow(SealError);
  });

  test('each purpose has a key of its own (attack 24.249)', () => {
    const sealer = createSealer(one);
    const [purpose, other] = sealPurposes;
    const sealed = sealer.seal('secret', `${purpose}/x`);
    // The place is authenticated too: only a value whose place were forged to match shows that the keys differ.
    const ids = new Set(
      [
        ...sealPurposes.map((name) => `identity-provider seal ${name}`),
        ...digestPurposes.map((name) => `identity-provider digest ${name}`),
      ].map((label) => Buffer.from(hkdfSync('sha256', Buffer.from(one, 'base64'), '', label, 32)).toString('hex')),
    );
    expect(ids.size).toBe(sealPurposes.length + digestPurposes.length);
    const box = sealed.subarray(sealer.header.length);
    const wrong = Buffer.from(hkdfSync('sha256', Buffer.from(one, 'base64'), '', `identity-provider seal ${other}`, 32));
    const cipher = createCipheriv('aes-256-gcm', wrong, box.subarray(0, 12));
    cipher.setAAD(Buffer.concat([sealer.header, Buffer.from(`${purpose}/x`)]));
    const body = Buffer.concat([cipher.update('secret'), cipher.final()]);
    const forged = Buffer.concat([sealer.header, box.subarray(0, 12), cipher.getAuthTag(), body]);
    expect(() => sealer.open(forged, `${purpose}/x` as Aad)).toThrow(SealError);
  });
});

describe('a keyed digest', () => {
  test('differs by purpose, value and key; the earlier ones are known', () => {
    const [k1, k2] = [createSealer(one), createSealer(two, [one])];
    const all = digestPurposes.flatMap((use) =>
      [k1.digest(use, 'x'), k1.digest(use, 'y'), k2.digest(use, 'x')].map((digest) => digest.toString('hex')),
    );
    expect(new Set(all).size).toBe(all.length);
    expect(k2.isDigest('csrf', 'x', k1.digest('csrf', 'x'))).toBe(true);
    expect(k1.isDigest('csrf', 'x', k2.digest('csrf', 'x'))).toBe(false);
    expect(k2.isDigest('csrf', 'x', k1.digest('passcode', 'x'))).toBe(false);
    expect(k2.isDigest('csrf', 'x', Buffer.alloc(0))).toBe(false);
    expect(k2.digests('csrf', 'x')[0]).toEqual(k2.digest('csrf', 'x'));
    expect(k1.digest('cursor a b', 'x')).not.toEqual(k1.digest('cursor a c', 'x'));
  });

  test('of before purposes had keys of their own is still known', () => {
    const sealer = createSealer(two, [one]);
    for (const earlier of [one, two]) {
      expect(sealer.isDigest('passcode', 'id 123456', digestUnnamed(earlier, 'passcode', 'id 123456'))).toBe(true);
      expect(sealer.digests('cursor a b', 'x')).toContainEqual(digestUnnamed(earlier, 'cursor a b', 'x'));
    }
    expect(sealer.isDigest('passcode', 'id 123456', digestUnnamed(three, 'passcode', 'id 123456'))).toBe(false);
  });
});
