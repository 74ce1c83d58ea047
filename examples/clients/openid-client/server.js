import { randomUUID } from 'node:crypto';
import express from 'express';
import * as oidc from 'openid-client';

const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env;
const home = 'http://localhost:3001/';
const redirect_uri = `${home}callback`;

// Plain http is for an issuer on this machine alone.
const options = ISSUER.startsWith('http:') ? { execute: [oidc.allowInsecureRequests] } : {};
const config = await oidc.discovery(new URL(ISSUER), CLIENT_ID, undefined, oidc.ClientSecretBasic(CLIENT_SECRET), options);

/** By the id in the cookie. An application keeps this in a store that outlives the process. */
const sessions = new Map();
const sessionOf = (req) => sessions.get(/(?:^|; )app=([\w-]+)/.exec(req.headers.cookie ?? '')?.[1]);
const escape = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const app = express();

app.get('/', (req, res) => {
  const person = sessionOf(req)?.person;
  if (!person) return res.send('<a href="/login">Sign in</a>');
  res.send(`Hello ${escape(person.name)}, ${escape(person.email)} <a href="/logout">Sign out</a>`);
});

app.get('/login', async (req, res) => {
  const [code_verifier, state, nonce, id] = [oidc.randomPKCECodeVerifier(), oidc.randomState(), oidc.randomNonce(), randomUUID()];
  sessions.set(id, { code_verifier, state, nonce });
  res.cookie('app', id, { httpOnly: true, sameSite: 'lax', secure: home.startsWith('https:') });
  const code_challenge = await oidc.calculatePKCECodeChallenge(code_verifier);
  const scope = 'openid profile email';
  const parameters = { redirect_uri, scope, state, nonce, code_challenge, code_challenge_method: 'S256' };
  res.redirect(oidc.buildAuthorizationUrl(config, parameters).href);
});

app.get('/callback', async (req, res) => {
  const pending = sessionOf(req);
  if (!pending) return res.redirect('/');
  const tokens = await oidc.authorizationCodeGrant(config, new URL(req.originalUrl, home), {
    pkceCodeVerifier: pending.code_verifier,
    expectedState: pending.state,
    expectedNonce: pending.nonce,
  });
  const person = await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
  const id = randomUUID(); // a new session for whoever signed in
  sessions.set(id, { person, id_token: tokens.id_token });
  res.cookie('app', id, { httpOnly: true, sameSite: 'lax', secure: home.startsWith('https:') });
  res.redirect('/');
});

app.get('/logout', (req, res) => {
  const session = sessionOf(req);
  sessions.delete(/(?:^|; )app=([\w-]+)/.exec(req.headers.cookie ?? '')?.[1]);
  if (!session?.id_token) return res.redirect('/');
  res.redirect(oidc.buildEndSessionUrl(config, { id_token_hint: session.id_token, post_logout_redirect_uri: home }).href);
});

app.listen(3001, 'localhost');
