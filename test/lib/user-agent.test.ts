import { expect, test } from 'vitest';
import { deviceWords } from '../../src/lib/user-agent.js';

const mac = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko)';

test.each([
  [`${mac} Chrome/130.0.0.0 Safari/537.36`, 'Chrome on macOS'],
  [`${mac} Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0`, 'Microsoft Edge on macOS'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
    'Safari on iOS',
  ],
  ['curl/8.5.0', 'curl'],
  ['my-app', 'my-app'],
])('%s is %s', (header, words) => expect(deviceWords(header)).toBe(words));

test.each([null, '', '<script>alert(1)</script>', '"; drop table users', '1234'])('%j says nothing', (header) => {
  expect(deviceWords(header)).toBeNull();
});

test('only its beginning is looked at', () => {
  expect(deviceWords(`curl/8.5.0 ${'x'.repeat(1_000_000)}`)).toBe('curl');
  expect(deviceWords(`${' '.repeat(512)}${mac} Chrome/130.0.0.0 Safari/537.36`)).toBeNull();
});
