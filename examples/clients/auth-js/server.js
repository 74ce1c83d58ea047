import { ExpressAuth, getSession } from '@auth/express';
import express from 'express';
import { config } from './auth.js';

const escape = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const app = express();
app.use('/auth/*', ExpressAuth(config));

app.get('/', async (req, res) => {
  const session = await getSession(req, config);
  if (!session) return res.send('<a href="/auth/signin">Sign in</a>');
  res.send(`Hello ${escape(session.user.name)}, ${escape(session.user.email)} <a href="/auth/signout">Sign out</a>`);
});

app.listen(3001, 'localhost');
