import { describe, expect, test } from 'vitest';
import { matchesRedirectUri, redirectUriProblem, withParameters } from '../../src/lib/redirect-uri.js';

describe('a redirect URI can be registered', () => {
  test.each([
    'https://app.example/cb',
    'https://app.example/cb?tenant=1',
    'https://app.example:8443',
    'http://localhost:3001/cb',
    'http://app.localhost/cb',
    'http://127.0.0.1/cb',
    'http://127.1.2.3:80/cb',
    'http://[::1]:51004/cb',
    'com.example.app:/oauth2redirect',
    'com.example.app://callback',
  ])('%s', (uri) => expect(redirectUriProblem(uri)).toBeNull());
});

describe('a redirect URI is refused (RFC 6749 3.1.2, RFC 9700 2.6, RFC 8252 7)', () => {
  test.each([
    ['', 'visible ASCII'],
    ['/cb', 'absolute'],
    ['app.example/cb', 'absolute'],
    ['https:app.example/cb', 'absolute'],
    ['https:/app.example/cb', 'absolute'],
    ['https://', 'absolute'],
    ['http://app.example/cb', 'https'],
    ['http://localhost.evil.example/cb', 'https'],
    ['http://127.0.0.1.evil.example/cb', 'https'],
    ['http://10.0.0.1/cb', 'https'],
    ['https://*.example/cb', 'wildcard'],
    ['https://app.example/*', 'wildcard'],
    ['https://app.example/cb#', 'fragment'],
    ['https://app.example/cb#x', 'fragment'],
    ['https://app.example\\@evil.example/cb', 'backslash'],
    ['https://user@app.example/cb', 'user name'],
    ['https://user:pw@app.example/cb', 'user name'],
    ['https://@app.example/cb', 'user name'],
    ['https://app.example/c b', 'visible ASCII'],
    ['https://app.example/cb\n', 'visible ASCII'],
    ['https://b\u00fccher.example/cb', 'visible ASCII'],
    ['javascript:alert(1)', 'javascript'],
    ['JavaScript:alert(1)', 'javascript'],
    ['data:text/html,x', 'data'],
    ['file:///etc/passwd', 'file'],
    ['blob:https://app.example/1', 'blob'],
    ['mailto:a@app.example', 'mailto'],
    ['https://app.example/cb?code=1', 'parameter of the answer'],
    ['https://app.example/cb?a=1&state=2', 'parameter of the answer'],
    ['https://app.example/cb?%63ode=1', 'parameter of the answer'],
    [`https://app.example/${'x'.repeat(2048)}`, 'longer than 2048'],
  ])('%j: %s', (uri, problem) => expect(redirectUriProblem(uri)).toContain(problem));
});

describe('a requested redirect URI', () => {
  const registered = ['https://app.example/cb', 'http://127.0.0.1/cb', 'http://[::1]:8080/cb?a=1'];

  test.each(registered)('%s is a registered one, to the letter (RFC 9700 2.1)', (uri) => {
    expect(matchesRedirectUri(registered, uri, false)).toBe(true);
    expect(matchesRedirectUri(registered, uri, true)).toBe(true);
  });

  test.each([
    'https://app.example/cb/',
    'https://app.example/cb?',
    'https://app.example:443/cb',
    'https://APP.example/cb',
    'https://app.example/%63b',
    'https://app.example/cb/../cb',
    'https://app.example.evil.example/cb',
    '',
  ])('%j is none, whatever the client', (uri) => {
    expect(matchesRedirectUri(registered, uri, false)).toBe(false);
    expect(matchesRedirectUri(registered, uri, true)).toBe(false);
  });

  test.each(['http://127.0.0.1:51004/cb', 'http://[::1]/cb?a=1', 'http://[::1]:1/cb?a=1'])(
    "%s differs in the port of a loopback literal, which is a native client's choice (RFC 8252 7.3)",
    (uri) => {
      expect(matchesRedirectUri(registered, uri, true)).toBe(true);
      expect(matchesRedirectUri(registered, uri, false)).toBe(false);
    },
  );

  test.each([
    'http://127.0.0.1:51004/other',
    'http://127.0.0.1:51004/cb?a=1',
    'http://127.0.0.2:51004/cb',
    'http://127.0.0.1:51004@evil.example/cb',
    'http://127.0.0.1:510040/cb',
    'http://127.0.0.1:65536/cb',
    'http://[::1]:99999/cb?a=1',
    'http://127.0.0.1:/cb',
    'https://127.0.0.1:51004/cb',
  ])('%s is none for a native client either', (uri) => expect(matchesRedirectUri(registered, uri, true)).toBe(false));

  test('the port of localhost is free as well, of that name alone', () => {
    const byName = ['http://localhost:3001/cb'];
    expect(matchesRedirectUri(byName, 'http://localhost:3002/cb', true)).toBe(true);
    expect(matchesRedirectUri(byName, 'http://localhost:3002/cb', false)).toBe(false);
    expect(matchesRedirectUri(byName, 'http://127.0.0.1:3001/cb', true)).toBe(false);
    expect(matchesRedirectUri(byName, 'http://localhost.evil.example:3001/cb', true)).toBe(false);
  });
});

describe('parameters of the answer', () => {
  test.each([
    ['https://app.example/cb', 'https://app.example/cb?code=a+b&state=%26'],
    ['https://app.example/cb?tenant=1', 'https://app.example/cb?tenant=1&code=a+b&state=%26'],
    ['https://app.example/cb?', 'https://app.example/cb?code=a+b&state=%26'],
    ['https://app.example/cb?a=1&', 'https://app.example/cb?a=1&code=a+b&state=%26'],
    ['com.example.app:/cb', 'com.example.app:/cb?code=a+b&state=%26'],
  ])('are added to %s and leave its own query alone (RFC 6749 3.1.2)', (uri, expected) => {
    expect(withParameters(uri, { code: 'a b', state: '&', iss: undefined })).toBe(expected);
  });
});
