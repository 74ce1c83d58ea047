// A small application for teams: people sign in for an organization and switch between theirs; administrators see members and invite people.
// Settings: ISSUER, CLIENT_ID, CLIENT_SECRET, APP_URL (`npm run setup` prints them).
import { randomUUID } from 'node:crypto';
import express from 'express';
import * as oidc from 'openid-client';
import { callApi } from './api.js';
import { page } from './page.js';
import { managementScopes } from './scopes.js';

const { ISSUER = 'http://localhost:3000', APP_URL = 'http://localhost:3002', CLIENT_ID, CLIENT_SECRET } = process.env;
const redirect_uri = `${APP_URL}/callback`;

// Plain http is fine for an issuer on this machine, and only there.
const local = ISSUER.startsWith('http:') ? { execute: [oidc.allowInsecureRequests] } : {};
const config = await oidc.discovery(new URL(ISSUER), CLIENT_ID, undefined, oidc.ClientSecretBasic(CLIENT_SECRET), local);

/** Signed-in browsers by the id in their cookie. A real application keeps this in a store that outlives the process. */
const sessions = new Map();
const cookieOf = (req) => /(?:^|; )team=([\w-]+)/.exec(req.headers.cookie ?? '')?.[1];

const app = express();
app.disable('x-powered-by');
app.use(express.urlencoded({ extended: false }));
app.use((req, res, next) => {
  // A form of another site comes without the cookie (SameSite), and is refused for its origin besides.
  if (req.method === 'POST' && req.headers.origin !== APP_URL)
    return res.status(403).send(page({}, null, 'This form is from another site.'));
  let id = cookieOf(req);
  if (!id || !sessions.has(id)) {
    id = randomUUID();
    sessions.set(id, { organizations: new Map() });
    res.cookie('team', id, { httpOnly: true, sameSite: 'lax', secure: APP_URL.startsWith('https:') });
  }
  req.session = sessions.get(id);
  next();
});

/** Sends the browser to sign in: for the organization, for one that the person chooses, or silently. */
async function authorize(req, res, { organization, prompt, manages = false }) {
  const code_verifier = oidc.randomPKCECodeVerifier();
  const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
  req.session.pending = { code_verifier, state, nonce, organization, prompt };
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri,
    scope: ['openid', 'profile', 'email', ...(manages ? managementScopes : [])].join(' '),
    // The access token is then for the Management API, and for this organization alone. Everybody is asked about that, so it is requested when it is needed.
    ...(manages && { resource: new URL('/api', ISSUER).href }),
    state,
    nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(code_verifier),
    code_challenge_method: 'S256',
    ...(organization && { organization }),
    ...(prompt && { prompt }),
  });
  res.redirect(303, url.href);
}

app.get('/login', (req, res) => authorize(req, res, { organization: req.query.organization }));

app.get('/members', (req, res) => authorize(req, res, { organization: req.session.claims?.org_id, manages: true }));

// Switching asks nothing where nothing is to be asked; where the organization wants another sign-in, the second request shows it.
app.get('/switch', (req, res) => authorize(req, res, { organization: req.query.organization, prompt: 'none' }));

app.get('/callback', async (req, res) => {
  const { pending, organizations } = req.session;
  if (!pending) return res.redirect(303, '/');
  delete req.session.pending;
  try {
    const tokens = await oidc.authorizationCodeGrant(config, new URL(req.originalUrl, APP_URL), {
      pkceCodeVerifier: pending.code_verifier,
      expectedState: pending.state,
      expectedNonce: pending.nonce,
    });
    const claims = tokens.claims();
    const { org_display_name } = await oidc.fetchUserInfo(config, tokens.access_token, claims.sub);
    organizations.set(claims.org_id, org_display_name);
    Object.assign(req.session, { tokens, claims });
    res.redirect(303, '/');
  } catch (error) {
    const isAsked = ['login_required', 'interaction_required', 'consent_required'].includes(error.error);
    if (pending.prompt !== 'none' || !isAsked) throw error;
    await authorize(req, res, { organization: pending.organization });
  }
});

const nameOf = (included, type, id) => included.find((one) => one.type === type && one.id === id)?.attributes;

/** Members, open invitations and roles of the organization, as far as the person may see them. */
async function teamOf({ tokens }) {
  const may = (scope) => tokens.scope.split(' ').includes(scope);
  if (!may('organization_memberships:read')) return null;
  const read = (path) => callApi(ISSUER, tokens.access_token, 'GET', path);
  const memberships = await read('organization_memberships?include=user,roles');
  const invitations = may('organization_invitations:read') ? (await read('organization_invitations?filter[status]=pending')).data : [];
  const roles = may('roles:read') ? (await read('roles')).data : [];
  return {
    members: memberships.data.map(({ attributes, relationships }) => ({
      email: nameOf(memberships.included, 'user', relationships.user.data.id)?.email,
      roles: relationships.roles.data.map(({ id }) => nameOf(memberships.included, 'role', id)?.name),
      status: attributes.status,
    })),
    invitations: invitations.map(({ attributes }) => attributes),
    roles: roles.map(({ id, attributes }) => ({ id, name: attributes.name })),
    mayInvite: may('organization_invitations:write'),
  };
}

app.get('/', async (req, res) => {
  res.send(page(req.session, req.session.claims && (await teamOf(req.session))));
});

app.post('/invite', async (req, res) => {
  const { email, role } = req.body;
  const roles = role ? { roles: { data: [{ type: 'role', id: role }] } } : {};
  await callApi(ISSUER, req.session.tokens?.access_token, 'POST', 'organization_invitations', {
    type: 'organization_invitation',
    attributes: { email },
    // Once it is accepted the invitation leads to the client whose token this is: here.
    relationships: roles,
  });
  res.redirect(303, '/');
});

app.post('/logout', (req, res) => {
  const { tokens } = req.session;
  sessions.delete(cookieOf(req));
  res.clearCookie('team');
  if (!tokens?.id_token) return res.redirect(303, '/');
  const url = oidc.buildEndSessionUrl(config, { id_token_hint: tokens.id_token, post_logout_redirect_uri: `${APP_URL}/` });
  res.redirect(303, url.href);
});

app.use((error, req, res, _next) => {
  res.status(400).send(page(req.session ?? {}, null, error.error_description ?? error.message));
});

const server = app.listen(Number(new URL(APP_URL).port || 3002), () => console.log(`example application at ${APP_URL}`));
process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
