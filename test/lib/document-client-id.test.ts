import { describe, expect, test } from 'vitest';
import { documentIdProblem, isDocumentId, isListedHost } from '../../src/lib/document-client-id.js';

const strict = { allowLoopback: false, ownOrigins: ['https://login.example'] };

describe('a client_id that is the address of a document', () => {
  test.each([
    'https://client.example/oauth/client.json',
    'https://client.example/',
    'https://client.example:8443/client',
    'https://client.example/client?version=2',
    'https://xn--bcher-kva.example/c',
    'https://client.example/..file',
    'https://client.example/a/%2F/b',
  ])('%s is good', (id) => {
    expect(isDocumentId(id)).toBe(true);
    expect(documentIdProblem(id, strict)).toBeNull();
  });

  test.each([
    ['https://client.example', 'must hold a path'],
    ['https://client.example?x=/', 'must hold a path'],
    ['https://client.example/a/../b', 'must not hold a dot segment'],
    ['https://client.example/./b', 'must not hold a dot segment'],
    ['https://client.example/a/..', 'must not hold a dot segment'],
    ['https://client.example/a/%2e%2E/b', 'must not hold a dot segment'],
    ['https://client.example/a/.%2e?x', 'must not hold a dot segment'],
    ['https://client.example/a#b', 'must not hold a fragment'],
    ['https://client.example/a#', 'must not hold a fragment'],
    ['https://user@client.example/a', 'must not hold a user name or password'],
    ['https://:@client.example/a', 'must not hold a user name or password'],
    ['https://Client.example/a', 'must be a URL in normal form'],
    ['https://client.example:443/a', 'must be a URL in normal form'],
    ['https://client.example\\a/b', 'must be a URL in normal form'],
    ['https://client.example/a b', 'must be a URL in normal form'],
    ['https://client.example/ä', 'must be a URL in normal form'],
    ['https://bücher.example/a', 'must be a URL in normal form'],
    ['https://2130706433/a', 'must be a URL in normal form'],
    ['https:///a', 'must hold a path'],
    ['https://[::1/a', 'is not a URL'],
    ['http://client.example/a', 'must use https'],
    ['http://127.0.0.1/a', 'must use https'],
    ['https://login.example/a', 'is an address of this service'],
    [`https://client.example/${'a'.repeat(500)}`, 'is longer than 512 characters'],
  ])('%s: %s (attack 30.623)', (id, problem) => expect(documentIdProblem(id, strict)).toBe(problem));

  test('may be http on this machine, where that is allowed', () => {
    const open = { ...strict, allowLoopback: true };
    for (const id of ['http://127.0.0.1:8080/c', 'http://[::1]/c', 'http://localhost:3000/c'])
      expect(documentIdProblem(id, open)).toBeNull();
    expect(documentIdProblem('http://192.168.0.1/c', open)).toBe('must use https');
    expect(documentIdProblem('http://localhost.example/c', open)).toBe('must use https');
  });

  test.each(['0190aa', 'HTTPS://client.example/c', 'ftp://client.example/c', ' https://client.example/c', 'https:client.example/c'])(
    '%j is an id like any other',
    (id) => expect(isDocumentId(id)).toBe(false),
  );
});

describe('a list of hosts', () => {
  const listed = ['client.example', '*.tools.example'];
  test.each(['client.example', 'a.tools.example', 'a.b.tools.example'])('%s is on it', (host) => {
    expect(isListedHost(listed, host)).toBe(true);
  });
  test.each(['www.client.example', 'tools.example', 'eviltools.example', 'client.example.evil.example', '.tools.example', ''])(
    '%j is not',
    (host) => expect(isListedHost(listed, host)).toBe(false),
  );
});
