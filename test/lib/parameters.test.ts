import { describe, expect, test } from 'vitest';
import { noParameters, parseParameters } from '../../src/lib/parameters.js';

describe('form parameters', () => {
  test('are decoded: plus signs, percent signs, UTF-8', () => {
    const parameters = parseParameters('scope=openid+email&redirect_uri=https%3A%2F%2Fapp.example%2Fcb&name=%C3%A9t%C3%A9');
    expect(parameters?.get('scope')).toBe('openid email');
    expect(parameters?.get('redirect_uri')).toBe('https://app.example/cb');
    expect(parameters?.get('name')).toBe('\u00e9t\u00e9');
  });

  test('without a value count as omitted (RFC 6749 3.1)', () => {
    const parameters = parseParameters('state=&prompt');
    expect(parameters?.get('state')).toBeUndefined();
    expect(parameters?.get('prompt')).toBeUndefined();
    expect(parameters?.all).toEqual({ state: '', prompt: '' });
  });

  test('that are sent twice keep the first value and are named, even when both are equal or empty', () => {
    const parameters = parseParameters('a=1&a=2&b=3&c=&c=');
    expect(parameters?.get('a')).toBe('1');
    expect(parameters?.repeated).toEqual(new Set(['a', 'c']));
  });

  test('have flat names: brackets and dots mean nothing', () => {
    const parameters = parseParameters('a[]=1&a[b]=2&a.b=3');
    expect(parameters?.all).toEqual({ 'a[]': '1', 'a[b]': '2', 'a.b': '3' });
    expect(parameters?.get('a')).toBeUndefined();
  });

  test('may bear the names of object members', () => {
    expect(parseParameters('')?.get('constructor')).toBeUndefined();
    expect(parseParameters('')?.get('__proto__')).toBeUndefined();
    const parameters = parseParameters('__proto__=x&constructor=y&toString=z');
    expect(parameters?.get('__proto__')).toBe('x');
    expect(parameters?.get('constructor')).toBe('y');
    expect(parameters?.repeated.size).toBe(0);
    expect(Object.prototype).not.toHaveProperty('x');
  });

  test('are at most 200', () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `p${i}=1`).join('&');
    expect(Object.keys(parseParameters(many(200))?.all ?? {})).toHaveLength(200);
    expect(parseParameters(many(201))).toBeNull();
    expect(parseParameters('a=1&'.repeat(201))).toBeNull();
  });

  test.each(['a=%00', 'a%00=1', 'a=x%00y', 'a=%ff', 'a=%C3', 'password=%ff'])('%s is refused: a NUL, or not UTF-8', (text) => {
    expect(parseParameters(text)).toBeNull();
  });

  test('a password may hold a NUL (ASVS 6.2.8)', () => {
    expect(parseParameters('password=a%00b')?.get('password')).toBe('a\0b');
    expect(parseParameters('current_password=a%00b')?.get('current_password')).toBe('a\0b');
    expect(parseParameters('password%00=a')).toBeNull();
  });
});

test('no parameters are none', () => {
  expect(noParameters.get('a')).toBeUndefined();
  expect(noParameters.repeated.size).toBe(0);
});
