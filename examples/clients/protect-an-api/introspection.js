const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env;
const authorization = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}`;

/** The claims of a good access token for this API. Throws for any other. */
export async function claimsOf(token) {
  const answer = await fetch(`${ISSUER}/oauth/introspect`, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams({ token }),
  });
  if (!answer.ok) throw new Error(`introspection answered ${answer.status}`);
  const claims = await answer.json();
  if (!claims.active || claims.aud !== 'https://orders.example.org') throw new Error('not good here');
  return claims;
}
