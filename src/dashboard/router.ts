import { Router } from 'express';
import { browserSession } from '../http/browser-session.js';
import { csrf } from '../http/csrf.js';
import { formOrJson } from '../http/form.js';
import { route } from '../http/method-not-allowed.js';
import type { Web } from '../http/web.js';
import { setup, setupPage } from './setup.js';

/** The dashboard. */
export function dashboardRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  route(router, '/dashboard/setup', { get: [browserSession, setupPage(web)], post: [formOrJson, browserSession, csrf, setup(web)] });
  return router;
}
