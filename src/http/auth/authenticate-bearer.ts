import type { Request } from 'express';
import { OAuthError } from '../../errors.js';

/** How an access token travels in the Authorization header (RFC 6750 2.1, RFC 9449 7.1). */
export type Scheme = 'Bearer' | 'DPoP';

/** Makes the refusal of what a request bears as an access token; `used` is null when it bears none at all. */
type Refuse = (used: Scheme | null, description: string) => OAuthError;

const header = /^(bearer|dpop) +([A-Za-z0-9\-._~+/]+=*) *$/i;

function readHeader(authorization: string, schemes: readonly Scheme[], refuse: Refuse): { scheme: Scheme; token: string } {
  const [, name = '', token] = header.exec(authorization) ?? [];
  const scheme = schemes.find((one) => one.toLowerCase() === name.toLowerCase());
  if (scheme === undefined || token === undefined)
    throw refuse('Bearer', `the Authorization header must be ${schemes.join(' or ')} with an access token`);
  return { scheme, token };
}

/**
 * The access token of the request: the Authorization header or, where `form` was parsed, the body field `access_token` (RFC 6750 2.2).
 * Both together are refused, and so is the query (RFC 9700 4.3.2).
 * @throws {OAuthError} 400 for one that is sent twice or in the query; otherwise what `refuse` makes
 */
export function readToken(req: Request, schemes: readonly Scheme[], refuse: Refuse): { scheme: Scheme; token: string } {
  const { authorization } = req.headers;
  const field = req.form?.get('access_token');
  if (/[?&]access_token=/.test(req.url)) throw OAuthError.invalid_request('the access token must not travel in the query');
  if (authorization !== undefined) {
    if (field !== undefined) throw OAuthError.invalid_request('the access token must be sent one way, not two');
    return readHeader(authorization, schemes, refuse);
  }
  if (field === undefined) throw refuse(null, 'an access token is needed');
  if (req.form.repeated.has('access_token')) throw OAuthError.invalid_request('a parameter must not be sent twice');
  return { scheme: 'Bearer', token: field };
}

/** A request without any token gets the bare challenge (RFC 6750 3.1). */
const bearerRefused: Refuse = (used, description) =>
  used === null
    ? new OAuthError(401, 'invalid_token', description, { 'WWW-Authenticate': 'Bearer realm="oauth"' })
    : OAuthError.invalid_token(description);

/** The token of a request to where only Bearer is known. @throws {OAuthError} 401 without a token; 400 for one that is sent twice or in the query */
export const bearerTokenOf = (req: Request): string => readToken(req, ['Bearer'], bearerRefused).token;
