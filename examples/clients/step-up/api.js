import { Router } from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const { ISSUER } = process.env;
const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`));
const expected = { issuer: ISSUER, audience: 'https://transfers.example.org', typ: 'at+jwt', algorithms: ['RS256'] };

/** Classes of sign-ins, lowest first: one factor, two factors, phishing-resistant. A higher one does for a lower one. */
const classes = ['1', '2', 'phr'];

/** Lets in whoever signed in with the class, at most so many seconds ago; challenges others (RFC 9470 3). */
const needsSignIn = (acr, max_age) => async (req, res, next) => {
  const token = /^Bearer (\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
  if (!token) return res.status(401).set('WWW-Authenticate', 'Bearer').end();
  const claims = await jwtVerify(token, keys, expected).then(({ payload }) => payload, () => null); // prettier-ignore
  if (!claims) return res.status(401).set('WWW-Authenticate', 'Bearer error="invalid_token"').end();
  const strong = classes.indexOf(claims.acr) >= classes.indexOf(acr);
  // A provider may not say when somebody signed in there: then there is no auth_time, and no age is known.
  const young = Date.now() / 1000 - (claims.auth_time ?? 0) <= max_age;
  if (strong && young) return next();
  const challenge = `Bearer error="insufficient_user_authentication", acr_values="${acr}", max_age="${max_age}"`;
  res.status(401).set('WWW-Authenticate', challenge).end();
};

export const api = Router();
api.get('/transfers', needsSignIn('1', 86_400), (req, res) => res.json({ transfers: [] }));
api.post('/transfers', needsSignIn('2', 300), (req, res) => res.json({ sent: true }));
