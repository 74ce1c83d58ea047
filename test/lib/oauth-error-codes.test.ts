import { expect, test } from 'vitest';
import { oauthErrorCodes } from '../../src/lib/oauth-error-codes.js';

const codes = Object.keys(oauthErrorCodes);

test('the errors that RFC 6749 4.1.2.1 and 5.2, RFC 6750 3.1, RFC 7591 3.2.2 and RFC 8707 2 name are there', () => {
  const authorize = ['access_denied', 'unsupported_response_type', 'invalid_scope', 'server_error', 'temporarily_unavailable'];
  const token = ['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type'];
  const others = ['invalid_token', 'insufficient_scope', 'invalid_redirect_uri', 'invalid_client_metadata', 'invalid_target'];
  expect(codes).toEqual(expect.arrayContaining([...authorize, ...token, ...others]));
});

test('a code holds only what `error` may hold (RFC 6749 5.2), and nothing to escape in a page', () => {
  for (const code of codes) expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
});

test('each has a source and a sentence that says what to do', () => {
  for (const [source, meaning] of Object.values(oauthErrorCodes)) {
    expect(source).toMatch(/^(?:RFC \d{4}|HTTP \d{3}|OpenID [A-Z].*)$/);
    expect(meaning).toMatch(/^[A-Z`].*\.$/);
  }
});
