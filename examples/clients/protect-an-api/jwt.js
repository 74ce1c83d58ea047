import { createRemoteJWKSet, jwtVerify } from 'jose';

const { ISSUER } = process.env;
const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`));

/** The claims of a good access token for this API. Throws for any other. */
export async function claimsOf(token) {
  const { payload } = await jwtVerify(token, keys, {
    issuer: ISSUER,
    audience: 'https://orders.example.org',
    typ: 'at+jwt',
    algorithms: ['RS256'],
  });
  return payload;
}
