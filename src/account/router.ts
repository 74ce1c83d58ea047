import { Router } from 'express';
import { browserSession } from '../http/browser-session.js';
import { csrf } from '../http/csrf.js';
import { formOrJson } from '../http/form.js';
import { route } from '../http/method-not-allowed.js';
import type { Web } from '../http/web.js';
import { limitAttempts, limitMails } from './limits.js';
import { login, loginPage } from './login.js';
import { logout, logoutPage } from './logout.js';
import { complete } from './register-complete.js';
import { verify, verifyPage } from './register-verify.js';
import { register, registerPage, registrationOpen, resend } from './register.js';

/** The steps of a registration; all of them count against one limit per address. */
function registrationRoutes(router: Router, web: Web): void {
  const limits = (field: string) => limitAttempts(web, 'register', web.deps.config.rateLimits.register, field);
  const step = (field: string) => [formOrJson, ...limits(field), registrationOpen, browserSession, csrf];
  const page = [registrationOpen, browserSession];
  route(router, '/register', {
    get: [...page, registerPage(web)],
    head: true,
    post: [formOrJson, ...limits('email'), limitMails(web, 'register'), registrationOpen, browserSession, csrf, register(web)],
  });
  route(router, '/register/verify', { get: [...page, verifyPage(web)], post: [...step('registration_id'), verify(web)] });
  route(router, '/register/resend', { post: [...step('registration_id'), resend(web)] });
  route(router, '/register/complete', { post: [...step('registration_token'), complete(web)] });
}

/** Login and what belongs to an account. */
export function accountRouter(web: Web): Router {
  const router = Router();
  const { rateLimits } = web.deps.config;
  route(router, '/login', {
    get: [browserSession, loginPage(web)],
    head: true,
    post: [formOrJson, ...limitAttempts(web, 'login', rateLimits.login, 'email'), browserSession, csrf, login(web)],
  });
  registrationRoutes(router, web);
  route(router, '/logout', { get: [browserSession, logoutPage(web)], post: [formOrJson, browserSession, csrf, logout] });
  return router;
}
