import express from 'express';
import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';

const { ISSUER } = process.env;
const own = 'http://localhost:3006';
const options = { requireDPoP: true, [oauth.allowInsecureRequests]: ISSUER.startsWith('http:') };
const as = await oauth.processDiscoveryResponse(new URL(ISSUER), await oauth.discoveryRequest(new URL(ISSUER), options));

/** Proofs of the last minutes: each is good once. With several processes keep them where all of them look. */
const used = new Map();
const goodForMs = 600_000;

function useOnce(proof) {
  const { jti } = decodeJwt(proof);
  for (const [other, at] of used) if (at < Date.now() - goodForMs) used.delete(other);
  if (used.has(jti)) throw new Error('the proof was used before');
  used.set(jti, Date.now());
}

/** Lets callers in whose token holds the permission, and who prove the key that it is bound to. */
const needs = (permission) => async (req, res, next) => {
  const { authorization = '', dpop = '' } = req.headers;
  try {
    const request = new Request(own + req.originalUrl, { method: req.method, headers: { authorization, dpop } });
    req.claims = await oauth.validateJwtAccessToken(as, request, 'https://ledger.example.org', options);
    useOnce(dpop);
  } catch {
    return res.status(401).set('WWW-Authenticate', 'DPoP algs="ES256 PS256 EdDSA Ed25519"').end();
  }
  if (!req.claims.permissions?.includes(permission)) return res.status(403).end();
  next();
};

const app = express();
app.get('/orders', needs('orders:read'), (req, res) => res.json({ for: req.claims.sub }));
app.listen(3006, 'localhost');
