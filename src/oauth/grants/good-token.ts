import { isClass, satisfies } from '../../domain/proofs/classes.js';
import type { ApiResource } from '../../domain/clients/clients.js';
import type { InactiveToken } from '../../domain/tokens/active-token.js';
import type { DpopProof } from '../../domain/dpop/proof.js';
import type { ExchangeableToken } from '../../domain/tokens/exchangeable-token.js';
import { OAuthError } from '../../errors.js';

/** @throws {OAuthError} `invalid_request` for a token that is not good, or not the client's to bring (RFC 8693 2.2.2) */
export function requireGood(
  name: 'subject_token' | 'actor_token',
  found: ExchangeableToken | InactiveToken,
  proof: DpopProof | null,
): ExchangeableToken {
  if ('inactive' in found) throw OAuthError.invalid_request(`${name}: ${found.inactive}`);
  // RFC 9449 7.2: what is bound to a key is nobody's without it, here as at an API.
  if (found.token.jkt !== null && found.token.jkt !== proof?.jkt)
    throw OAuthError.invalid_request(`${name}: this token is bound to a key, and comes with a DPoP proof of that key only`);
  return found;
}

/** What the API resource demands of the sign-in (RFC 9470 3) holds of the one behind the subject's token. @throws {OAuthError} `invalid_request` */
export function requireSignIn(
  { required_acr, max_authentication_age }: ApiResource,
  { token: { acr, auth_time } }: ExchangeableToken,
  now: Date,
): void {
  if (required_acr !== null && !(isClass(acr) && satisfies(acr, required_acr)))
    throw OAuthError.invalid_request(
      `subject_token: the resource takes a sign-in of the class ${required_acr}, and this token does not tell of one`,
    );
  if (max_authentication_age !== null && !(auth_time && now.getTime() - auth_time.getTime() <= max_authentication_age * 1000))
    throw OAuthError.invalid_request('subject_token: the resource takes a more recent sign-in than this token tells of');
}
