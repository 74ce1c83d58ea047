import { argon2i, argon2id, hash as argon2Hash } from 'argon2';
import bcrypt from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { OverloadedError } from '../../../src/domain/passwords/hashing-queue.js';
import { passwordHashWork, readableHash } from '../../../src/domain/passwords/hash-formats.js';
import { createPasswordHasher, hashesAtOnce, MAX_PASSWORD_LENGTH, passwordProblems } from '../../../src/domain/passwords/passwords.js';

const hasher = createPasswordHasher();
const isTaken = (hash: string) => readableHash(hash) !== null;

describe('hashing', () => {
  test('stores argon2id with m=19456, t=2, p=1 and a fresh salt', async () => {
    const one = await hasher.hash('correct horse battery');
    const other = await hasher.hash('correct horse battery');
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(one).not.toBe(other);
    expect(await hasher.verify(one, 'correct horse battery')).toBe(true);
    expect(await hasher.verify(one, 'correct horse batterz')).toBe(false);
    expect(hasher.needsRehash(one)).toBe(false);
    expect(isTaken(one)).toBe(true);
  });

  test.each([
    ['128 characters', 'å'.repeat(128)],
    ['spaces around', '  two spaces  '],
    ['NUL inside', 'before\0after'],
    ['emoji', '🔑🔑🔑🔑🔑🔑🔑🔑'],
  ])('accepts as typed: %s (attack 10.118)', async (_name, password) => {
    const stored = await hasher.hash(password);
    expect(await hasher.verify(stored, password)).toBe(true);
    expect(await hasher.verify(stored, password.slice(0, -1))).toBe(false);
    expect(await hasher.verify(stored, password.trim() === password ? `${password} ` : password.trim())).toBe(false);
  });

  test('two strings equal in their first 72 bytes differ (attack 10.118)', async () => {
    const start = 'x'.repeat(72);
    const stored = await hasher.hash(`${start}one`);
    expect(await hasher.verify(stored, `${start}two`)).toBe(false);
    expect(await hasher.verify(stored, start)).toBe(false);
  });

  test('composed and decomposed spellings are one password', async () => {
    const stored = await hasher.hash('caf\u00e9-terrasse');
    expect(await hasher.verify(stored, 'cafe\u0301-terrasse')).toBe(true);
  });

  test('an overlong text is refused unhashed', async () => {
    const stored = await hasher.hash('correct horse battery');
    const before = hasher.spent();
    expect(await hasher.verify(stored, 'x'.repeat(1_000_000))).toBe(false);
    expect((await hasher.check(null, 'x'.repeat(1_000_000))).right).toBe(false);
    expect(hasher.spent()).toBe(before);
    await expect(hasher.hash('x'.repeat(2000))).rejects.toThrow(RangeError);
  });
});

describe('imported hashes', () => {
  test('bcrypt in its three spellings is checked and wants a rehash', async () => {
    const stored = await bcrypt.hash('correct horse battery', 4);
    for (const prefix of ['$2a$', '$2b$', '$2y$']) {
      const imported = prefix + stored.slice(4);
      expect(isTaken(imported)).toBe(true);
      expect(await hasher.verify(imported, 'correct horse battery')).toBe(true);
      expect(await hasher.verify(imported, 'correct horse batterz')).toBe(false);
      expect(hasher.needsRehash(imported)).toBe(true);
    }
  });

  test('a refusal computes one hash, and no decoy of what else was imported (attack 10.991)', async () => {
    const passwords = createPasswordHasher();
    /** What a check computes, in hashes of ours. */
    const cost = async (phc: string | null, password = 'wrong') => {
      const before = passwords.spent();
      const checked = await passwords.check(phc, password);
      await passwords.hold(checked, 114 * 2 ** 6);
      return passwords.spent() - before;
    };
    expect(await cost(null)).toBe(1);
    expect(await cost(await passwords.hash('correct horse battery'))).toBe(1);
    // A text that normalising changes is tried twice, whoever it is for.
    expect(await cost(null, 'cafe\u0301')).toBe(2);
    expect(await cost(await bcrypt.hash('x', 9))).toBe(1.5);
    expect(await cost('unreadable')).toBe(1);
  });

  test('a refusal is held back as long as the dearest imported hash takes, whatever was checked (attack 10.264)', async () => {
    const pauses: number[] = [];
    const passwords = createPasswordHasher({ pause: async (ms) => void pauses.push(ms) });
    const dear = passwordHashWork(await bcrypt.hash('x', 11))!;
    /** Milliseconds from the begin of the turn until the answer. */
    const heldUntil = async (phc: string | null, work: number | null) => {
      const checked = await passwords.check(phc, 'wrong');
      const asked = performance.now();
      await passwords.hold(checked, work);
      return asked - checked.began + (pauses.pop() ?? 0);
    };
    await heldUntil(null, null);
    expect(pauses).toEqual([]);
    const own = await passwords.hash('correct horse battery');
    const held = [await heldUntil(null, dear), await heldUntil(own, dear), await heldUntil('$2b$04$' + 'c'.repeat(53), dear)];
    // What a check took counts a sixteenth in the estimate; on a busy machine one takes many times as long as another.
    expect(Math.max(...held) / Math.min(...held)).toBeLessThan(2);
    // Never beyond what anybody waits for a turn.
    expect(await heldUntil(null, 1e9)).toBeLessThan(6_000);
    expect(await heldUntil(null, 1e9)).toBeGreaterThan(4_000);
  });

  test('where the operator chose another cost, a refusal takes as long for a hash of before as for nobody (attack 69.1943)', async () => {
    const pauses: number[] = [];
    const pause = async (ms: number) => void pauses.push(ms);
    // A minute ahead: it isn't over on a machine that stalls.
    const refused = () => ({ right: false, began: performance.now() + 60_000 });
    await createPasswordHasher({ pause }).hold(refused(), null);
    expect(pauses).toEqual([]);
    // Dearer and cheaper than those of before.
    for (const cost of [
      { memoryCost: 65_536, timeCost: 3 },
      { memoryCost: 7168, timeCost: 5 },
    ])
      await createPasswordHasher({ cost, pause }).hold(refused(), null);
    expect(pauses).toHaveLength(2);
  });

  test('where all that was imported is cheaper than ours, a refusal is held back as long as ours takes (attack 10.264)', async () => {
    const pauses: number[] = [];
    const passwords = createPasswordHasher({ pause: async (ms) => void pauses.push(ms) });
    const cheap = '$2b$04$' + 'c'.repeat(53);
    // The first check of bcrypt starts its thread.
    await passwords.check(cheap, 'wrong');
    const checked = await passwords.check(cheap, 'wrong');
    const asked = performance.now();
    await passwords.hold(checked, passwordHashWork(cheap));
    // A hash of ours is taken to need 50 ms until some have run, twice that with the margin; one of bcrypt at this cost a twentieth.
    expect(asked - checked.began + (pauses[0] ?? 0)).toBeGreaterThan(95);
  });

  test('the work of a hash is that of its parameters, in any order', () =>
    expect(
      [
        '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA',
        '$argon2i$t=3,m=4096,p=2$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA',
        `$2y$10$${'c'.repeat(53)}`,
        'unreadable',
      ].map(passwordHashWork),
    ).toEqual([38_912, 12_288, 116_736, null]));

  test('a costly bcrypt check leaves the event loop free', async () => {
    const stored = (await bcrypt.hash('x', 4)).replace('$04$', '$12$');
    await hasher.verify(await bcrypt.hash('x', 4), 'x');
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await hasher.verify(stored, 'whatever');
    clearInterval(timer);
    expect(turns).toBeGreaterThan(5);
  });

  test('other argon2 parameters and variants are checked and want a rehash', async () => {
    for (const type of [argon2id, argon2i] as const) {
      const imported = await argon2Hash('correct horse battery', { type, memoryCost: 4096, timeCost: 3, parallelism: 2 });
      expect(isTaken(imported)).toBe(true);
      expect(await hasher.verify(imported, 'correct horse battery')).toBe(true);
      expect(hasher.needsRehash(imported)).toBe(true);
    }
  });

  test('a hash of an unnormalised password still opens', async () => {
    const imported = await bcrypt.hash('cafe\u0301-terrasse', 4);
    expect(await hasher.verify(imported, 'cafe\u0301-terrasse')).toBe(true);
  });

  test.each([
    ['plain text', 'correct horse battery'],
    ['empty', ''],
    ['MD5 crypt', '$1$abcdefgh$abcdefghijklmnopqrstuv'],
    ['bcrypt of cost 31', `$2b$31$${'a'.repeat(53)}`],
    ['bcrypt cut short', `$2b$10$${'a'.repeat(50)}`],
    ['argon2 of 4 GiB', '$argon2id$v=19$m=4194304,t=1,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo'],
    ['argon2 of 999 passes', '$argon2id$v=19$m=19456,t=999,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo'],
    ['argon2 with no memory', '$argon2id$v=19$m=1,t=1,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo'],
    ['argon2 with a stub of a hash', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaA'],
  ])('refused: %s', async (_name, imported) => {
    expect(isTaken(imported)).toBe(false);
    expect(await hasher.verify(imported, 'correct horse battery')).toBe(false);
  });
});

describe('the queue', () => {
  test('at most `concurrency` run; at most `queueMax` wait; the rest are told when to come back (attack 10.117)', async () => {
    const small = createPasswordHasher({ concurrency: 1, queueMax: 3 });
    const settled = await Promise.allSettled(Array.from({ length: 10 }, () => small.hash('correct horse battery')));
    const refused = settled.filter((one) => one.status === 'rejected');
    expect(settled.length - refused.length).toBe(4);
    for (const { reason } of refused) {
      expect(reason).toBeInstanceOf(OverloadedError);
      expect((reason as OverloadedError).retry_after).toBeGreaterThanOrEqual(1);
      expect(Number.isInteger((reason as OverloadedError).retry_after)).toBe(true);
    }
    await expect(small.hash('correct horse battery')).resolves.toMatch(/^\$argon2id/);
  });

  test('a refused verify and decoy overflow alike', async () => {
    const small = createPasswordHasher({ concurrency: 1, queueMax: 0 });
    const stored = await hasher.hash('a long one');
    const busy = small.hash('correct horse battery');
    await expect(small.check(null, 'anything')).rejects.toThrow(OverloadedError);
    await expect(small.verify(stored, 'anything')).rejects.toThrow(OverloadedError);
    await busy;
  });
});

describe('rules', () => {
  const jane = { email: 'Jane.Doe@example.com', first_name: 'Jane', last_name: 'Doe', min_length: 8 };

  test.each([
    ['seven!7', ['password_too_short']],
    ['🔑'.repeat(7), ['password_too_short']],
    ['', ['password_too_short']],
    ['x9'.repeat(64) + 'y', ['password_too_long']],
    ['x'.repeat(1_000_000), ['password_too_long']],
    ['password1', ['password_common']],
    ['PassWord123', ['password_common']],
    ['Password1!!', ['password_common']],
    ['aaaaaaaaaaaa', ['password_common']],
    ['abcabcabcabc', ['password_common']],
    ['abcdefghijkl', ['password_common']],
    ['987654321', ['password_common']],
    ['jane.doe@example.com', ['password_contains_email']],
    ['my-JANE.DOE@EXAMPLE.COM-is-long-enough', ['password_contains_email']],
    ['Jane.Doe1999', ['password_contains_email']],
    ['janedoe!2024', ['password_contains_email', 'password_contains_name']],
    ['jane12345', ['password_contains_name']],
    ['doe-jane-x', ['password_contains_name']],
  ])('%j is refused', (password, problems) => {
    expect(passwordProblems(password, jane).filter((code) => problems.includes(code))).toEqual(problems);
    expect(passwordProblems(password, jane)[0]).toBe(problems[0]);
  });

  test.each([
    'correct horse battery',
    'ünïcödé-pässwörd',
    '🔑🔒🔐🗝🔏🚪🏠🌳',
    'janitors closet door 9',
    'a\0b\0c\0d\0e',
    `${'long enough '.repeat(10)}12345678`,
    'plain-lowercase',
    '7294618350',
  ])('%j is accepted, without composition rules', (password) => expect(passwordProblems(password, jane)).toEqual([]));

  test('length counts code points after NFC, up to 128', () => {
    expect(passwordProblems('e\u0301'.repeat(4) + 'abcd', {})).toEqual([]);
    expect(passwordProblems('e\u0301'.repeat(4) + 'abc', {})).toEqual(['password_too_short']);
    expect(passwordProblems('x🔑'.repeat(MAX_PASSWORD_LENGTH / 2 - 1) + 'yz', {})).toEqual([]);
    expect(passwordProblems('twelve chars', { min_length: 13 })).toEqual(['password_too_short']);
  });
});

test('a burst of sign-ins leaves a processor and a thread of the pool to everything else', () => {
  expect([1, 2, 3, 4, 16, 64].map((processors) => hashesAtOnce(1, processors))).toEqual([1, 1, 2, 3, 3, 3]);
  expect([1, 2, 4, 8, 64].map((processes) => hashesAtOnce(processes, 8))).toEqual([3, 3, 1, 1, 1]);
});
