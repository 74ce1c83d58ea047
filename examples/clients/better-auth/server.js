import { fromNodeHeaders, toNodeHandler } from 'better-auth/node';
import express from 'express';
import { auth } from './auth.js';

const escape = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const app = express();
app.all('/api/auth/{*path}', toNodeHandler(auth));

/** Calls better-auth, hands on the cookies that it sets, and goes where it says. */
async function leadOn(res, answer) {
  for (const cookie of answer.headers.getSetCookie()) res.append('set-cookie', cookie);
  const { url } = await answer.json();
  res.redirect(url ?? '/');
}

app.get('/', async (req, res) => {
  const session = await auth.api.getSession({ headers: fromNodeHeaders(req.headers) });
  if (!session) return res.send('<form method="post" action="/sign-in"><button>Sign in</button></form>');
  const { name, email } = session.user;
  res.send(`Hello ${escape(name)}, ${escape(email)} <form method="post" action="/sign-out"><button>Sign out</button></form>`);
});

app.post('/sign-in', async (req, res) => {
  const body = { provider: 'idp', callbackURL: '/' };
  await leadOn(res, await auth.api.signInSocial({ body, headers: fromNodeHeaders(req.headers), asResponse: true }));
});

app.post('/sign-out', async (req, res) => {
  await leadOn(res, await auth.api.signOut({ headers: fromNodeHeaders(req.headers), asResponse: true }));
});

app.listen(3001, 'localhost');
