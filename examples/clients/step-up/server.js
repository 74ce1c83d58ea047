import { randomUUID } from 'node:crypto';
import express from 'express';
import * as oidc from 'openid-client';
import { api } from './api.js';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, APP_URL = 'http://localhost:3005/' } = process.env;
const redirect_uri = `${APP_URL}callback`;
const resource = 'https://transfers.example.org';

// Plain http is for an issuer on this machine alone.
const options = ISSUER.startsWith('http:') ? { execute: [oidc.allowInsecureRequests] } : {};
const config = await oidc.discovery(new URL(ISSUER), CLIENT_ID, undefined, oidc.ClientSecretBasic(CLIENT_SECRET), options);

/** By the id in the cookie. An application keeps this in a store that outlives the process. */
const sessions = new Map();
const idOf = (req) => /(?:^|; )transfers=([\w-]+)/.exec(req.headers.cookie ?? '')?.[1];
const sessionOf = (req) => sessions.get(idOf(req)) ?? {};

/** Keeps what is known of the browser under a new id. */
function remember(req, res, session) {
  sessions.delete(idOf(req));
  const id = randomUUID();
  sessions.set(id, session);
  res.cookie('transfers', id, { httpOnly: true, sameSite: 'lax', secure: APP_URL.startsWith('https:') });
}

/** What the API demands of a sign-in (RFC 9470 3); null for any other failure. */
function demandOf(error) {
  if (!(error instanceof oidc.WWWAuthenticateChallengeError)) return null;
  const isDemand = ({ scheme, parameters }) => scheme === 'bearer' && parameters.error === 'insufficient_user_authentication';
  const { acr_values, max_age } = error.cause.find(isDemand)?.parameters ?? {};
  return acr_values || max_age ? { ...(acr_values && { acr_values }), ...(max_age && { max_age }) } : null;
}

/** Sends the person to sign in, and back to `next`; what they have done so far waits in the session. */
async function signIn(req, res, next, demand = null) {
  const [code_verifier, state, nonce] = [oidc.randomPKCECodeVerifier(), oidc.randomState(), oidc.randomNonce()];
  remember(req, res, { ...sessionOf(req), pending: { code_verifier, state, nonce, next }, demand });
  const code_challenge = await oidc.calculatePKCECodeChallenge(code_verifier);
  const parameters = { redirect_uri, resource, scope: 'openid', state, nonce, code_challenge, code_challenge_method: 'S256', ...demand };
  res.redirect(oidc.buildAuthorizationUrl(config, parameters).href);
}

const app = express();
app.use('/api', api);

app.get('/', (req, res) => {
  const { acr } = sessionOf(req);
  res.send(acr ? `Signed in with class ${acr}. <a href="/transfer">Send the transfer</a>` : '<a href="/login">Sign in</a>');
});

app.get('/login', (req, res) => signIn(req, res, '/'));

app.get('/callback', async (req, res) => {
  const { pending, demand } = sessionOf(req);
  if (!pending) return res.redirect('/');
  const tokens = await oidc.authorizationCodeGrant(config, new URL(req.originalUrl, APP_URL), {
    pkceCodeVerifier: pending.code_verifier,
    expectedState: pending.state,
    expectedNonce: pending.nonce,
  });
  remember(req, res, { access_token: tokens.access_token, acr: tokens.claims().acr, demand });
  res.redirect(pending.next);
});

app.get('/transfer', async (req, res) => {
  const { access_token, demand: asked } = sessionOf(req);
  if (!access_token) return signIn(req, res, '/transfer');
  try {
    await oidc.fetchProtectedResource(config, access_token, new URL('/api/transfers', APP_URL), 'POST');
    res.send('The transfer is sent.');
  } catch (error) {
    const demand = demandOf(error);
    if (!demand) throw error;
    // acr_values is a wish: who has no second factor comes back as before, and is not sent round again.
    if (asked) return res.status(403).send('A transfer takes a second factor. Add one to your account, then try again.');
    await signIn(req, res, '/transfer', demand);
  }
});

app.listen(Number(new URL(APP_URL).port || 80), 'localhost');
