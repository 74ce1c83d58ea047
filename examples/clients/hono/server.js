import { serve } from '@hono/node-server';
import { getAuth, getAuthorizationServer, initOidcAuthMiddleware, oidcAuthMiddleware, revokeSession } from '@hono/oidc-auth';
import { Hono } from 'hono';
import { html } from 'hono/html';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET } = process.env;
const home = 'http://localhost:3001/';

const app = new Hono();
app.use(
  initOidcAuthMiddleware({
    OIDC_ISSUER: ISSUER,
    OIDC_CLIENT_ID: CLIENT_ID,
    OIDC_CLIENT_SECRET: CLIENT_SECRET,
    OIDC_AUTH_SECRET: SESSION_SECRET,
    OIDC_REDIRECT_URI: `${home}callback`,
    OIDC_SCOPES: 'openid profile email',
  }),
);

// What the session keeps of the ID token, when somebody signs in and when the session is renewed.
app.use(async (c, next) => {
  c.set('oidcClaimsHook', async (before, claims, response) => ({
    sub: claims?.sub ?? before.sub,
    name: claims?.name ?? before.name,
    email: claims?.email ?? before.email,
    id_token: response.id_token ?? before.id_token,
  }));
  await next();
});

app.get('/', async (c) => {
  const person = await getAuth(c);
  if (!person) return c.html('<a href="/login">Sign in</a>');
  return c.html(html`Hello ${person.name}, ${person.email} <a href="/logout">Sign out</a>`);
});

app.get('/logout', async (c) => {
  const person = await getAuth(c);
  if (!person) return c.redirect('/');
  await revokeSession(c);
  const { end_session_endpoint } = await getAuthorizationServer(c);
  const goodbye = new URLSearchParams({ id_token_hint: person.id_token, post_logout_redirect_uri: home });
  return c.redirect(`${end_session_endpoint}?${goodbye}`);
});

// What stands below needs somebody who is signed in; the middleware answers /callback too.
app.use(oidcAuthMiddleware());
app.get('/login', (c) => c.redirect('/'));
app.get('/callback', (c) => c.redirect('/'));

serve({ fetch: app.fetch, port: 3001, hostname: 'localhost' });
