import express from 'express';
import { auth } from 'express-openid-connect';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET } = process.env;
const escape = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const app = express();

// Adds /login, /logout and /callback.
app.use(
  auth({
    issuerBaseURL: ISSUER,
    baseURL: 'http://localhost:3001',
    clientID: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    secret: SESSION_SECRET,
    authorizationParams: { response_type: 'code', scope: 'openid profile email' },
    authRequired: false,
    idpLogout: true,
  }),
);

app.get('/', (req, res) => {
  if (!req.oidc.isAuthenticated()) return res.send('<a href="/login">Sign in</a>');
  const { name, email } = req.oidc.user;
  res.send(`Hello ${escape(name)}, ${escape(email)} <a href="/logout">Sign out</a>`);
});

app.listen(3001, 'localhost');
