import type { Request } from 'express';
import { OAuthError } from '../../errors.js';

/** A request without any token gets the bare challenge (RFC 6750 3.1). */
const missing = () => new OAuthError(401, 'invalid_token', 'an access token is needed', { 'WWW-Authenticate': 'Bearer realm="oauth"' });

const header = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/**
 * The access token of the request: the Authorization header (RFC 6750 2.1) or, where `form` was parsed, the body field
 * `access_token` (2.2). Both together are refused, and so is the query (RFC 9700 4.3.2).
 * @throws {OAuthError} 401 without a token; 400 for one that is sent twice or in the query
 */
export function bearerTokenOf(req: Request): string {
  const { authorization } = req.headers;
  const field = req.form?.get('access_token');
  if (/[?&]access_token=/.test(req.url)) throw OAuthError.invalid_request('the access token must not travel in the query');
  if (authorization !== undefined) {
    if (field !== undefined) throw OAuthError.invalid_request('the access token must be sent one way, not two');
    const token = header.exec(authorization)?.[1];
    if (token === undefined) throw OAuthError.invalid_token('the Authorization header must be Bearer with an access token');
    return token;
  }
  if (field === undefined) throw missing();
  if (req.form.repeated.has('access_token')) throw OAuthError.invalid_request('a parameter must not be sent twice');
  return field;
}
