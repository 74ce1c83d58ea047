import express from 'express';
import * as introspection from './introspection.js';
import * as jwt from './jwt.js';

/** Lets callers in whose token holds the permission. */
const needs = (permission, claimsOf) => async (req, res, next) => {
  const token = /^Bearer (\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
  if (!token) return res.status(401).set('WWW-Authenticate', 'Bearer').end();
  const claims = await claimsOf(token).catch(() => null);
  if (!claims) return res.status(401).set('WWW-Authenticate', 'Bearer error="invalid_token"').end();
  if (!claims.permissions?.includes(permission))
    return res.status(403).set('WWW-Authenticate', `Bearer error="insufficient_scope", scope="${permission}"`).end();
  req.claims = claims;
  next();
};

const app = express();
app.get('/orders', needs('orders:read', jwt.claimsOf), (req, res) => res.json({ for: req.claims.sub }));
app.get('/payments', needs('orders:read', introspection.claimsOf), (req, res) => res.json({ for: req.claims.sub }));
app.get('/secrets', needs('orders:write', jwt.claimsOf), (req, res) => res.json({ for: req.claims.sub }));
app.listen(3003, 'localhost');
