import { expect, test } from 'vitest';
import { nearestName } from '../../src/lib/nearest.js';

const names = ['redirect_uris', 'post_logout_redirect_uris', 'grant_types', 'name', 'jwks'];

test.each([
  ['redirect_uri', 'redirect_uris'],
  ['redirekt_uris', 'redirect_uris'],
  ['Grant_Types', 'grant_types'],
  ['grant_tyeps', 'grant_types'],
  ['nmae', 'name'],
  ['jwk', 'jwks'],
  ['something else', null],
  ['', null],
  ['x'.repeat(10_000), null],
])('%j: %j', (written, meant) => {
  expect(nearestName(written, names)).toBe(meant);
});

test('nothing is near where there is nothing', () => {
  expect(nearestName('name', [])).toBeNull();
});
