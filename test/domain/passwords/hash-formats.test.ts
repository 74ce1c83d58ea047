import { pbkdf2Sync } from 'node:crypto';
import { expect, test } from 'vitest';
import { drawDecoy, shapeOf } from '../../../src/domain/passwords/decoys.js';
import { hashFormats, passwordHashWork, readableHash, readHash, withFirebaseKey } from '../../../src/domain/passwords/hash-formats.js';
import { createPasswordHasher } from '../../../src/domain/passwords/passwords.js';
import { formatSamples, firebaseKey } from '../../support/password-hashes.js';

const hasher = createPasswordHasher();

test.each(formatSamples)(
  '$name: the right password opens, another does not, and it is hashed anew (specification 18.1.1)',
  async ({ hash, password }) => {
    expect(readableHash(hash)).not.toBeNull();
    const right = await hasher.check(hash, password, undefined, { firebase: firebaseKey });
    expect(right.right).toBe(true);
    expect((await hasher.check(hash, `${password}!`, undefined, { firebase: firebaseKey })).right).toBe(false);
    expect(hasher.needsRehash(hash)).toBe(true);
  },
);

test('every format of the list has a sample', () => {
  const sampled = new Set(formatSamples.map(({ hash }) => hashFormats.find(({ begins }) => begins.test(hash))?.name));
  expect(hashFormats.map(({ name }) => name).filter((name) => !sampled.has(name))).toEqual([]);
});

const b64 = (bytes: number) => Buffer.alloc(bytes, 1).toString('base64');
const v3 = (prf: number, rounds: number, salt = 16, hash = 32) => {
  const head = Buffer.alloc(13);
  head[0] = 1;
  [prf, rounds, salt].forEach((value, index) => head.writeUInt32BE(value, 1 + 4 * index));
  return `aspnet$${Buffer.concat([head, Buffer.alloc(16 + hash)]).toString('base64')}`;
};

test.each([
  [`$pbkdf2-sha256$i=1500001$${b64(16)}$${b64(32)}`, 'hash_too_expensive'],
  [`$pbkdf2-sha256$i=999$${b64(16)}$${b64(32)}`, 'unsupported_hash'],
  [`$pbkdf2-sha256$i=27500$${b64(16)}$${b64(8)}`, 'unsupported_hash'],
  [`$pbkdf2-sha256$i=27500$${b64(16)}$${b64(65)}`, 'unsupported_hash'],
  [`$pbkdf2-md5$i=27500$${b64(16)}$${b64(32)}`, 'unsupported_hash'],
  [`pbkdf2_sha256$1500001$salt$${b64(32)}`, 'hash_too_expensive'],
  [`pbkdf2_sha256$600000$$${b64(32)}`, 'unsupported_hash'],
  [`$firebase-scrypt$ln=17,r=8$${b64(8)}$${b64(64)}`, 'hash_too_expensive'],
  [`$firebase-scrypt$ln=0,r=8$${b64(8)}$${b64(64)}`, 'unsupported_hash'],
  [v3(1, 1_500_001), 'hash_too_expensive'],
  [v3(3, 10_000), 'unsupported_hash'],
  [v3(1, 10_000, 4_294_967_295), 'unsupported_hash'],
  [`aspnet$${b64(49)}`, 'unsupported_hash'],
  ['aspnet$!!!', 'unsupported_hash'],
  [`$2b$15$${'a'.repeat(53)}`, 'hash_too_expensive'],
  ['$argon2id$v=19$m=4194304,t=1,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo', 'hash_too_expensive'],
  ['md5$abc$d41d8cd98f00b204e9800998ecf8427e', 'unsupported_hash'],
])('%s is %s (specification 18.1.2, attack 50.1461)', (hash, refusal) => expect(readHash(hash)).toBe(refusal));

test('PBKDF2 costs as many blocks as its hash is long', () => {
  const of = (bytes: number) => passwordHashWork(`$pbkdf2-sha256$i=100000$${b64(16)}$${b64(bytes)}`);
  expect([of(32), of(33), of(64)]).toEqual([25_000, 50_000, 50_000]);
});

test('a hash of Firebase names the key of its import, in place of another', () => {
  const plain = '$firebase-scrypt$ln=14,r=8$c2FsdA==$aGFzaA==';
  const named = withFirebaseKey(plain, '01a00000-0000-7000-8000-000000000001');
  expect(named).toBe('$firebase-scrypt$ln=14,r=8,k=01a00000-0000-7000-8000-000000000001$c2FsdA==$aGFzaA==');
  expect(withFirebaseKey(named, '01a00000-0000-7000-8000-000000000002')).toContain('k=01a00000-0000-7000-8000-000000000002$');
  expect(readableHash(named)?.key_id).toBe('01a00000-0000-7000-8000-000000000001');
});

test('decoys follow the mix of formats, always the same for an address, and never cost more than two of ours (attack 50.1477)', () => {
  const cheap = formatSamples.find(({ name }) => name === 'Django')!.hash;
  const dear = `$2b$13$${'a'.repeat(53)}`;
  const mix = [
    { shape: shapeOf(cheap), users: 600 },
    { shape: shapeOf(dear), users: 200 },
    { shape: '$argon2id$v=19$m=19456,t=2,p=1$43', users: 200 },
  ];
  const drawn = Array.from({ length: 1000 }, (_, n) => drawDecoy(mix, pbkdf2Sync(`address ${n}`, 'key', 1, 32, 'sha256')));
  const works = drawn.map((decoy) => (decoy === null ? null : passwordHashWork(decoy)));
  const of = (work: number | null) => works.filter((one) => one === work).length;
  expect(of(passwordHashWork(cheap))).toBeGreaterThan(500);
  expect(of(38_912)).toBeGreaterThan(120);
  // Those that would be dear are decoys of our own kind.
  expect(of(null)).toBeGreaterThan(120);
  expect(drawDecoy(mix, Buffer.alloc(32, 7))).toBe(drawDecoy(mix, Buffer.alloc(32, 7)));
  expect(drawDecoy([], Buffer.alloc(32))).toBeNull();
});

test.each(formatSamples)('$name: a decoy of its shape costs as much', ({ hash }) => {
  const decoy = drawDecoy([{ shape: shapeOf(hash), users: 1 }], Buffer.alloc(32));
  if (decoy !== null) expect(passwordHashWork(decoy)).toBe(passwordHashWork(hash));
  else expect(passwordHashWork(hash)).toBeGreaterThan(77_824);
});
