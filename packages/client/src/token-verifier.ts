import { createRemoteJWKSet, customFetch, jwtVerify, type JWTPayload } from 'jose';
import { followRevocations, type RevocationsOptions } from './revocations.js';

export type VerifierOptions = {
  /** The issuer, as it is: `https://login.example.com`. */
  readonly issuer: string;
  /** The identifier of the API resource that the tokens have to be for. */
  readonly audience: string;
  readonly fetch?: typeof globalThis.fetch;
  /** How far clocks may differ, in seconds; 5 unless given. */
  readonly clockTolerance?: number;
  /**
   * Follows the revocation feed: what ended before its time is refused within ten seconds. No token is taken once the feed can't be read for a minute.
   */
  readonly revocations?: RevocationsOptions;
};

/** What an access token says (RFC 9068). */
export type AccessTokenClaims = JWTPayload & {
  readonly sub: string;
  readonly client_id: string;
  readonly scope?: string;
  readonly permissions?: readonly string[];
};

/** @throws an error of jose for a token that is none of these; another for one that has ended, and while the revocation feed can't be read */
export type TokenVerifier = (token: string) => Promise<AccessTokenClaims>;

const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'];

type Metadata = { readonly issuer?: string; readonly jwks_uri?: string };

/**
 * Verifies access tokens that are JWTs (RFC 9068) for an API. Keys are fetched once, and again when a token names one that isn't there: the service
 * publishes a key a day before it signs.
 */
export function createTokenVerifier(options: VerifierOptions): TokenVerifier {
  const { issuer, audience, fetch = globalThis.fetch, clockTolerance = 5, revocations } = options;
  const discover = async () => {
    const response = await fetch(`${issuer}/.well-known/openid-configuration`, { redirect: 'error' });
    const metadata = (await response.json()) as Metadata;
    // What another address says of itself is not believed (RFC 8414 3.3).
    if (metadata.issuer !== issuer || metadata.jwks_uri === undefined) throw new Error(`${issuer} is not the issuer that answers there`);
    const keys = createRemoteJWKSet(new URL(metadata.jwks_uri), { [customFetch]: fetch });
    const requireAlive = revocations && followRevocations({ ...revocations, issuer, fetch, keys, algorithms, clockTolerance });
    return { keys, requireAlive };
  };
  let found: ReturnType<typeof discover> | null = null;
  return async (token) => {
    const { keys, requireAlive } = await (found ??= discover()).catch((error: unknown) => {
      found = null;
      throw error;
    });
    const requiredClaims = ['sub', 'client_id', 'exp', 'iat'];
    const { payload } = await jwtVerify(token, keys, { issuer, audience, algorithms, typ: 'at+jwt', requiredClaims, clockTolerance });
    await requireAlive?.(payload);
    return payload as AccessTokenClaims;
  };
}
