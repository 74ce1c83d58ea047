import { Router } from 'express';
import { browserSession } from '../http/browser-session.js';
import { csrf } from '../http/csrf.js';
import { formOrJson } from '../http/form.js';
import { route } from '../http/method-not-allowed.js';
import type { Web } from '../http/web.js';
import { limitAttempts } from './limits.js';
import { login, loginPage } from './login.js';
import { logout, logoutPage } from './logout.js';

/** Login and what belongs to an account. */
export function accountRouter(web: Web): Router {
  const router = Router();
  const { rateLimits } = web.deps.config;
  route(router, '/login', {
    get: [browserSession, loginPage(web)],
    head: true,
    post: [formOrJson, ...limitAttempts(web, 'login', rateLimits.login, 'email'), browserSession, csrf, login(web)],
  });
  route(router, '/logout', { get: [browserSession, logoutPage(web)], post: [formOrJson, browserSession, csrf, logout] });
  return router;
}
