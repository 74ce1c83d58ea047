import { expect, test } from 'vitest';
import { parseBasicCredentials } from '../../src/lib/basic-credentials.js';

const header = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

test.each([
  ['ops:secret', 'ops', 'secret'],
  ['ops:with:colons', 'ops', 'with:colons'],
  ['ops:', 'ops', ''],
  [':secret', '', 'secret'],
  ['a%3Ab:c%25d', 'a:b', 'c%d'],
  ['my+app:a+b%2Bc', 'my app', 'a b+c'],
  ['ops:caf\u00e9', 'ops', 'caf\u00e9'],
])('%j is read as form-encoded id and secret (RFC 6749 2.3.1)', (text, client_id, client_secret) => {
  expect(parseBasicCredentials(header(text))).toEqual({ client_id, client_secret });
});

test('a secret that is not valid form encoding is taken as it is', () =>
  expect(parseBasicCredentials(header('ops:100%+x'))).toEqual({ client_id: 'ops', client_secret: '100%+x' }));

test('the scheme is read in any case and may be followed by several spaces (RFC 9110 11.1, 11.4)', () =>
  expect(parseBasicCredentials(header('a:b').replace('Basic ', 'bASIC   '))).toEqual({ client_id: 'a', client_secret: 'b' }));

test.each([
  ['another scheme', 'Bearer YTpi'],
  ['no credentials', 'Basic '],
  ['no colon', header('nothing-to-split')],
  ['characters outside of base64', 'Basic a:b'],
  ['two values', 'Basic YTpi YTpi'],
  ['too much padding', 'Basic YTpi==='],
  ['nothing', ''],
])('%s is no Basic header', (_case, text) => expect(parseBasicCredentials(text)).toBeNull());
