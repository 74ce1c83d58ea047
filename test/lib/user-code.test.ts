import { expect, test } from 'vitest';
import { newUserCode, readUserCode, showUserCode } from '../../src/lib/user-code.js';

test('codes are eight of twenty letters, each as likely as the others', () => {
  const counts = new Map<string, number>();
  const codes = Array.from({ length: 5000 }, newUserCode);
  for (const code of codes) {
    expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{8}$/);
    for (const letter of code) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  }
  expect(counts.size).toBe(20);
  // 2,000 of each are expected; seven standard deviations are 305.
  for (const count of counts.values()) expect(Math.abs(count - 2000)).toBeLessThan(305);
  expect(new Set(codes).size).toBe(5000);
});

test.each([
  ['WDJB-MJHT', 'WDJBMJHT'],
  ['wdjbmjht', 'WDJBMJHT'],
  [' wd jb\u2013mj\u2010ht\n', 'WDJBMJHT'],
  ['WDJB-MJH', null],
  ['WDJB-MJHTT', null],
  ['WDJB-MJHA', null],
  ['WDJB_MJHT', null],
  ['', null],
])('what is typed, %j, is read as %j', (typed, code) => expect(readUserCode(typed)).toBe(code));

test('a code is shown in two halves', () => expect(showUserCode('WDJBMJHT')).toBe('WDJB-MJHT'));
