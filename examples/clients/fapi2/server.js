import { randomUUID } from 'node:crypto';
import express from 'express';
import { exportJWK, generateKeyPair } from 'jose';
import * as oidc from 'openid-client';

const { ISSUER, CLIENT_ID, APP_URL: home = 'http://localhost:3007/' } = process.env;
const redirect_uri = `${home}callback`;

// What the application proves itself with. Made at each start here; in production it stays in a key store, and its successor is published before it signs.
const { publicKey, privateKey: key } = await generateKeyPair('PS256');
const kid = randomUUID();
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'PS256' }] };

// Plain http is for an issuer on this machine alone.
const options = ISSUER.startsWith('http:') ? { execute: [oidc.allowInsecureRequests] } : {};
const metadata = { id_token_signed_response_alg: 'ES256' };
const config = await oidc.discovery(new URL(ISSUER), CLIENT_ID, metadata, oidc.PrivateKeyJwt({ key, kid }), options);

// What the tokens are bound to: another key, which proves nothing else. The library repeats what was refused for want of a nonce.
const DPoP = oidc.getDPoPHandle(config, await oidc.randomDPoPKeyPair());

/** By the id in the cookie. An application keeps this in a store that outlives the process. */
const sessions = new Map();
const sessionOf = (req) => sessions.get(/(?:^|; )bank=([\w-]+)/.exec(req.headers.cookie ?? '')?.[1]);
const escape = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const open = (res, session) => {
  const id = randomUUID(); // a new one for whoever signed in
  sessions.set(id, session);
  res.cookie('bank', id, { httpOnly: true, sameSite: 'lax', secure: home.startsWith('https:') });
};

const app = express();

app.get('/jwks.json', (req, res) => res.json(jwks));

app.get('/', (req, res) => {
  const person = sessionOf(req)?.person;
  if (!person) return res.send('<a href="/login">Sign in</a>');
  res.send(`Hello ${escape(person.name)}, ${escape(person.email)} <a href="/logout">Sign out</a>`);
});

app.get('/login', async (req, res) => {
  const [pkceCodeVerifier, expectedState, expectedNonce] = [oidc.randomPKCECodeVerifier(), oidc.randomState(), oidc.randomNonce()];
  open(res, { checks: { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true } });
  const code_challenge = await oidc.calculatePKCECodeChallenge(pkceCodeVerifier);
  const scope = 'openid profile email';
  const asked = { redirect_uri, scope, state: expectedState, nonce: expectedNonce, code_challenge, code_challenge_method: 'S256' };
  // The request itself goes from here to the service; through the browser goes a reference to it.
  res.redirect((await oidc.buildAuthorizationUrlWithPAR(config, asked, { DPoP })).href);
});

app.get('/callback', async (req, res) => {
  const { checks } = sessionOf(req) ?? {};
  if (!checks) return res.redirect('/');
  const tokens = await oidc.authorizationCodeGrant(config, new URL(req.originalUrl, home), checks, undefined, { DPoP });
  const person = await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims().sub, { DPoP });
  open(res, { person, tokens });
  res.redirect('/');
});

app.get('/logout', (req, res) => {
  const session = sessionOf(req);
  sessions.delete(/(?:^|; )bank=([\w-]+)/.exec(req.headers.cookie ?? '')?.[1]);
  if (!session?.tokens) return res.redirect('/');
  res.redirect(oidc.buildEndSessionUrl(config, { id_token_hint: session.tokens.id_token, post_logout_redirect_uri: home }).href);
});

app.listen(new URL(home).port, 'localhost');
