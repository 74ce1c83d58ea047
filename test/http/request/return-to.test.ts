import { describe, expect, test } from 'vitest';
import { safeReturnTo } from '../../../src/http/request/return-to.js';

/** Where a browser that is on our pages ends up. */
function resolved(path: string): string {
  const { pathname, search } = new URL(path, 'http://own.invalid');
  return pathname + search;
}

const taken = [
  '/',
  '/account',
  '/account?',
  '/oauth/authorize/resume?request=v2.abc_DEF-123',
  '/login?a=b&c=%2Fd+e:f*~g',
  '/device?user_code=WDJB-MJHT',
  '/a/../account',
  '/a/./b',
  '/a/%2e%2e/b',
  '/.well-known/x',
  '/a?b=../c',
  '/a?b=//c',
  "/a?b='c'",
  '/a"b',
  '/a//b',
  '/a?b?c',
  '/a?b#c',
];

describe('the path to return to', () => {
  test.each(taken)('%s is what a browser makes of it', (path) => expect(safeReturnTo(path)).toBe(resolved(path)));

  test.each([
    '',
    'account',
    '//evil.example',
    '/\\evil.example',
    '/a\tb',
    '/a b',
    '/.//evil.example',
    '/a/..//evil.example',
    'https://evil.example/',
  ])('%j leads elsewhere, or nowhere', (path) => expect(safeReturnTo(path)).toBeNull());
});
