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
