import { expect, test } from 'vitest';
import { distanceBetween, nearestName } from '../../src/lib/nearest.js';

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
])('%j: %j', (written, meant) => expect(nearestName(written, names)).toBe(meant));

test('nothing is near where there is nothing', () => expect(nearestName('name', [])).toBeNull());

test('a distance beyond what is asked for is as good as none, and any other is the same as without a limit', () => {
  let seed = 7;
  const below = (count: number) => (seed = (seed * 48_271) % 2_147_483_647) % count;
  const word = () => Array.from({ length: 3 + below(6) }, () => 'abc'[below(3)]).join('');
  const counts = [0, 0];
  for (let index = 0; index < 5_000; index += 1) {
    const [one, other, most] = [word(), word(), below(4)];
    const whole = distanceBetween(one, other, 1_000);
    const expected = whole <= most ? whole : Number.POSITIVE_INFINITY;
    expect([one, other, most, distanceBetween(one, other, most)]).toEqual([one, other, most, expected]);
    counts[whole <= most ? 0 : 1] = (counts[whole <= most ? 0 : 1] ?? 0) + 1;
  }
  expect(counts.every((count) => count > 500)).toBe(true);
});
