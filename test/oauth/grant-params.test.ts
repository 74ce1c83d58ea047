import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { OAuthError } from '../../src/errors.js';
import { parseParameters, type Parameters } from '../../src/lib/parameters.js';
import { grants } from '../../src/oauth/grants/index.js';
import { optional, required } from '../../src/oauth/grants/grant.js';
import { readParams } from '../../src/oauth/token.js';

const params = { code: required(10), scope: optional(5) };
const form = (text: string) => parseParameters(text) as Parameters;

function refusalOf(text: string): string {
  try {
    readParams(params, form(text));
  } catch (error) {
    if (error instanceof OAuthError) return error.message;
    throw error;
  }
  return 'none';
}

describe('declared parameters of a grant type', () => {
  test('are read by name; what is not declared is left out', () => {
    expect(readParams(params, form('code=abc&scope=a+b&other=1'))).toEqual({ code: 'abc', scope: 'a b' });
    expect(readParams(params, form('code=abc'))).toEqual({ code: 'abc', scope: undefined });
  });

  test.each([
    ['scope=a', 'invalid_request: code is required'],
    ['code=', 'invalid_request: code is required'],
    ['code=a&code=b', 'invalid_request: code was sent twice'],
    ['code=12345678901', 'invalid_request: code is longer than 10 characters'],
    ['code=a&scope=123456', 'invalid_request: scope is longer than 5 characters'],
    ['code=a&scope=1&scope=2', 'invalid_request: scope was sent twice'],
    ['code=1234567890&scope=12345', 'none'],
  ])('%s: %s', (text, refusal) => expect(refusalOf(text)).toBe(refusal));

  test('each grant type is in the table of the specification with its parameters', async () => {
    const page = await readFile('docs/specification/05-oauth.md', 'utf8');
    const rows = [...page.matchAll(/^\| `([\w:-]+)` +\| (`.+`) +\|$/gm)].map(([, grant_type, cell]) => [grant_type, cell?.trim()]);
    const declared = Object.entries(grants).map(([grant_type, grant]) => [
      grant_type,
      Object.entries(grant.params)
        .map(([name, param]) => `\`${name}${param.required ? '' : '?'}\``)
        .join(', '),
    ]);
    expect(
      rows,
      'The table of docs/specification/05-oauth.md (5.5.1) has a row for each line of src/oauth/grants/index.ts, in its order.',
    ).toEqual(declared);
  });
});
