import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { earlierKeyProblem, randomKeyProblem } from '../../src/lib/random-key.js';

const base64 = (bytes: Buffer | string) => Buffer.from(bytes as string).toString('base64');

describe('a secret key', () => {
  test('32 random bytes in base64 or base64url, with or without padding', () => {
    for (let i = 0; i < 2000; i++) {
      const bytes = randomBytes(32);
      for (const text of [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('base64').replace('=', '')])
        expect(randomKeyProblem(text)).toBeNull();
    }
  });

  const random = randomBytes(64);
  test.each([
    ['nothing', ''],
    ['a passphrase', 'correct horse battery staple, correct horse battery staple'],
    ['a passphrase of letters only', 'correcthorsebatterystaplecorrecthorsebatter'],
    ['a passphrase with capitals', 'CorrectHorseBatteryStapleCorrectHorseBatter'],
    ['the same with padding', 'CorrectHorseBatteryStapleCorrectHorseBatter='],
    ['words and a year', 'MyCompanyIdentityProviderSecretForTheYear26'],
    ['one letter', 'A'.repeat(43)],
    ['digits', '1234567890'.repeat(5).slice(0, 43)],
    ['random bytes in hexadecimal', random.subarray(0, 32).toString('hex')],
    ['too few', base64(random.subarray(0, 31))],
    ['too many', base64(random.subarray(0, 33))],
    ['many more', base64(random)],
    ['zeros', base64(Buffer.alloc(32))],
    ['one byte again and again', base64(Buffer.alloc(32, 7))],
    ['a pattern', base64(Buffer.from('0123456789abcdef'.repeat(4), 'hex'))],
    ['half of a key, twice', base64(Buffer.concat([random.subarray(0, 16), random.subarray(0, 16)]))],
    ['a sequence', base64(Buffer.from(Array.from({ length: 32 }, (_, i) => 100 + i)))],
    ['a sequence of sevens', base64(Buffer.from(Array.from({ length: 32 }, (_, i) => (i * 7) % 256)))],
    ['a text in base64', base64('this is the secret of our company')],
    ['a text of 32 characters in base64', base64('Tr0ub4dor&3-Tr0ub4dor&3-xkcd-936')],
    ['a text beyond ASCII in base64', base64('äöüß straße größe äöü 12345')],
    ['hexadecimal in base64', base64(random.subarray(0, 16).toString('hex'))],
    ['a text that base64 decoders would forgive', `${base64(random.subarray(0, 32))}!`],
    ['one with space inside', base64(random.subarray(0, 32)).replace(/^(.{20})/, '$1 ')],
  ])('%s is refused, and not shown (attack 24.247)', (_, text) => {
    const problem = randomKeyProblem(text);
    expect(problem).toMatch(/^must be .*make one with: openssl rand -base64 32$/);
    if (text.length > 8) expect(problem).not.toContain(text.slice(0, 8));
  });
});

test('an earlier key may be whatever earlier releases took: 32 bytes and more', () => {
  for (const text of [base64(randomBytes(32)), base64(Buffer.alloc(40, 7)), randomBytes(32).toString('hex')])
    expect(earlierKeyProblem(text)).toBeNull();
  for (const text of ['', 'short', base64(randomBytes(31))]) expect(earlierKeyProblem(text)).toContain('must list earlier keys');
});
