// Signs people in with openid-client, shows who they are, calls an API with the access token, refreshes, signs out.
// Settings: ISSUER, CLIENT_ID, CLIENT_SECRET, APP_URL (where this application is reached).
import { randomUUID } from 'node:crypto';
import express from 'express';
import * as oidc from 'openid-client';
import { page } from './page.js';

const setting = (name, fallback) => {
  const value = process.env[name] ?? fallback;
  if (value === undefined) throw new Error(`set ${name}; npm run seed prints the values`);
  return value;
};

const issuer = new URL(setting('ISSUER', 'http://localhost:3000'));
const appUrl = new URL(setting('APP_URL', 'http://localhost:3001'));
const redirect_uri = new URL('/callback', appUrl).href;

// Plain http is fine for an issuer on this machine, and only there.
const local = issuer.protocol === 'http:' ? { execute: [oidc.allowInsecureRequests] } : {};
const config = await oidc.discovery(
  issuer,
  setting('CLIENT_ID', 'demo-web'),
  undefined,
  oidc.ClientSecretBasic(setting('CLIENT_SECRET')),
  local,
);

/** Signed-in browsers by the id in their cookie. A real application keeps this in a store that outlives the process. */
const sessions = new Map();
const cookieOf = (req) => /(?:^|; )app=([\w-]+)/.exec(req.headers.cookie ?? '')?.[1];

const app = express();
app.disable('x-powered-by');
app.use((req, res, next) => {
  let id = cookieOf(req);
  if (!id || !sessions.has(id)) {
    id = randomUUID();
    sessions.set(id, {});
    res.cookie('app', id, { httpOnly: true, sameSite: 'lax', secure: appUrl.protocol === 'https:' });
  }
  req.session = sessions.get(id);
  next();
});

app.get('/', (req, res) => {
  res.send(page(req.session));
});

app.get('/login', async (req, res) => {
  const code_verifier = oidc.randomPKCECodeVerifier();
  const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
  req.session.pending = { code_verifier, state, nonce };
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri,
    scope: 'openid profile email',
    state,
    nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(code_verifier),
    code_challenge_method: 'S256',
  });
  res.redirect(303, url.href);
});

app.get('/callback', async (req, res) => {
  const { pending } = req.session;
  if (!pending) return res.redirect(303, '/');
  delete req.session.pending;
  const tokens = await oidc.authorizationCodeGrant(config, new URL(req.originalUrl, appUrl), {
    pkceCodeVerifier: pending.code_verifier,
    expectedState: pending.state,
    expectedNonce: pending.nonce,
  });
  const { sub } = tokens.claims();
  const claims = await oidc.fetchUserInfo(config, tokens.access_token, sub);
  Object.assign(req.session, { tokens, claims });
  res.redirect(303, '/');
});

app.post('/notes', async (req, res) => {
  const answer = await fetch(new URL('/api/notes', appUrl), {
    headers: { authorization: `Bearer ${req.session.tokens?.access_token ?? ''}` },
  });
  req.session.notes = { status: answer.status, body: await answer.json() };
  res.redirect(303, '/');
});

app.post('/refresh', async (req, res) => {
  const { tokens } = req.session;
  if (tokens?.refresh_token) {
    const fresh = await oidc.refreshTokenGrant(config, tokens.refresh_token);
    req.session.tokens = { ...tokens, ...fresh };
    req.session.refreshed = (req.session.refreshed ?? 0) + 1;
  }
  res.redirect(303, '/');
});

app.post('/logout', (req, res) => {
  const { tokens } = req.session;
  sessions.delete(cookieOf(req));
  res.clearCookie('app');
  const { end_session_endpoint } = config.serverMetadata();
  if (!end_session_endpoint || !tokens?.id_token) return res.redirect(303, '/');
  const url = oidc.buildEndSessionUrl(config, { id_token_hint: tokens.id_token, post_logout_redirect_uri: new URL('/', appUrl).href });
  res.redirect(303, url.href);
});

// The protected API. It asks the provider about the token (RFC 7662); an API with an identifier of its own gets JWTs instead and
// checks them against the provider's keys without asking.
app.get('/api/notes', async (req, res) => {
  const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1];
  const { active, scope = '', sub } = token ? await oidc.tokenIntrospection(config, token) : { active: false };
  if (!active) return res.status(401).set('WWW-Authenticate', 'Bearer').json({ error: 'invalid_token' });
  if (!scope.split(' ').includes('profile')) return res.status(403).json({ error: 'insufficient_scope' });
  res.json({ notes: ['Buy milk', 'Call Ada'], read_by: sub });
});

app.use((error, _req, res, _next) => {
  res.status(400).send(page({ error: error.error_description ?? error.message }));
});

const server = app.listen(Number(appUrl.port || 3001), () => console.log(`example application at ${appUrl.origin}`));
process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
