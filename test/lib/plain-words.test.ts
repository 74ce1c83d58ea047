import { describe, expect, test } from 'vitest';
import { holdsInvisible, holdsStack, plainWords, strangersName } from '../../src/lib/plain-words.js';
import { deviceWords } from '../../src/lib/user-agent.js';

describe('plain words', () => {
  test.each([
    ['Acme Inc.', 'Acme Inc.'],
    ['Acme & Sons (Ltd.)', 'Acme & Sons (Ltd.)'],
    ['Support: Monday', 'Support: Monday'],
    ['Research/Development', 'Research/Development'],
    ['booking.example', 'booking dot example'],
    ['ada@mail.example', 'ada at mail dot example'],
    ['https://evil.example/x', 'https evil dot example/x'],
    ['a\r\nb\u2028c', 'a b c'],
    ['\u202etxet\u202c', 'txet'],
  ])('%j is %j', (text, words) => expect(plainWords(text)).toBe(words));
});

describe('characters that nobody sees', () => {
  test.each([
    '\u0007',
    'a\nb',
    'a\u202eb',
    'a\u2066b',
    'a\u200bb',
    '\ufeffa',
    'a\u00adb',
    'a\u2060b',
    '\u3164',
    'a\ud800',
    'a\u200d',
    '\u200ca',
  ])('are found: %j', (text) => expect(holdsInvisible(text)).toBe(true));
  test.each(['Acme', 'Bücher & Söhne', '日本語', 'שלום', '👩‍👩‍👧', 'می‌خواهم', 'क्‍ष', '✈️'])('are none: %s', (text) =>
    expect(holdsInvisible(text)).toBe(false),
  );
});

describe('devices', () => {
  const chrome = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36';
  test.each([
    [chrome, 'Chrome on macOS'],
    ['curl/8.5', 'curl'],
    ['python-requests/2.1', 'python-requests'],
    ['evil.example/1.0 click', null],
    ['Visit www.evil.example now/5.0 (X)', null],
    ['Visit us now/5.0 (X)', null],
    ['http://evil.example/', null],
    ['evil.example/1 (Windows NT 10.0)', 'Windows'],
    ['', null],
  ])('%j is %j', (user_agent, words) => expect(deviceWords(user_agent)).toBe(words));
});

test('marks that would cover the lines around a name are left out, and those of languages stay (attack 9.855)', () => {
  expect(strangersName(`Acme${'\u0301'.repeat(200)}!`, 60)).toBe(`Acme${'\u0301'.repeat(6)}!`);
  expect(holdsStack(`Acme${'\u0489'.repeat(7)}`)).toBe(true);
  for (const name of ['မြွှေပွေး', 'སྒྲུབས', 'Đặng', 'שָׁלוֹם', 'ที่นี่', '👨‍👩‍👧‍👦 7️⃣']) {
    expect(holdsStack(name)).toBe(false);
    expect(strangersName(name, 60)).toContain(name.split(' ')[0]?.slice(0, 2));
  }
});
