import { expect, test } from 'vitest';
import { formatScope, isSubset, parseScope } from '../../src/lib/scope-set.js';

test.each([
  ['openid', ['openid']],
  ['openid email', ['openid', 'email']],
  ['b a b', ['b', 'a']],
  ['  openid  ', ['openid']],
  ['', []],
  ['   ', []],
  ['https://api.example/read !#[]~', ['https://api.example/read', '!#[]~']],
])('%j is the scopes %j, each once, in their order', (text, scopes) => expect(parseScope(text)).toEqual(scopes));

test.each(['a  b', 'a\tb', 'a\nb', 'a"b', 'a\\b', 'caf\u00e9', 'a\0b', 'a\u00a0b'])('%j is no scope (RFC 6749 3.3)', (text) => {
  expect(parseScope(text)).toBeNull();
});

test('the wire shows scopes with single spaces', () => {
  expect(formatScope(['openid', 'email'])).toBe('openid email');
  expect(formatScope(new Set())).toBe('');
});

test('scopes are within others when each is among them', () => {
  expect(isSubset(['a'], ['a', 'b'])).toBe(true);
  expect(isSubset(['b', 'a'], ['a', 'b'])).toBe(true);
  expect(isSubset([], [])).toBe(true);
  expect(isSubset(['a', 'c'], ['a', 'b'])).toBe(false);
  expect(isSubset(['A'], ['a'])).toBe(false);
  expect(isSubset(['a'], [])).toBe(false);
});
