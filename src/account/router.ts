import { Router } from 'express';
import { browserSession } from '../http/browser-session.js';
import { csrf } from '../http/csrf.js';
import { formOrJson } from '../http/form.js';
import { route } from '../http/method-not-allowed.js';
import type { Web } from '../http/web.js';
import { password, profile, revokeApplication, revokeOtherSessions, revokeSession, unlink } from './account-actions.js';
import { accountPage } from './account-page.js';
import { limitAttempts, limitMails, limitSignedIn } from './limits.js';
import { login, loginPage } from './login.js';
import { logout, logoutPage } from './logout.js';
import { forgot, forgotPage, reset, resetPage } from './password-reset.js';
import { complete } from './register-complete.js';
import { verify, verifyPage } from './register-verify.js';
import { register, registerPage, registrationOpen, resend } from './register.js';
import { signedIn } from './signed-in.js';

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

/** Recovery: counted by address, by submitted email and by the reset whose code is tried. */
function passwordRoutes(router: Router, web: Web): void {
  const limits = (field: string) => limitAttempts(web, 'password', web.deps.config.rateLimits.login, field);
  route(router, '/password/forgot', {
    get: [browserSession, forgotPage(web)],
    head: true,
    post: [formOrJson, ...limits('email'), browserSession, csrf, forgot(web)],
  });
  route(router, '/password/reset', {
    get: [browserSession, resetPage(web)],
    head: true,
    post: [formOrJson, ...limits('reset_id'), browserSession, csrf, reset(web)],
  });
}

/** What a person does with the own account. */
function ownAccountRoutes(router: Router, web: Web): void {
  const action = [formOrJson, browserSession, signedIn, csrf];
  route(router, '/account', { get: [browserSession, signedIn, accountPage(web)], head: true });
  route(router, '/account/profile', { post: [...action, profile(web)] });
  const limit = limitSignedIn(web, 'account_password', web.deps.config.rateLimits.login);
  route(router, '/account/password', { post: [formOrJson, browserSession, signedIn, limit, csrf, password(web)] });
  route(router, '/account/sessions/revoke_others', { post: [...action, revokeOtherSessions] });
  route(router, '/account/sessions/:id/revoke', { post: [...action, revokeSession] });
  route(router, '/account/identities/:id/unlink', { post: [...action, unlink(web)] });
  route(router, '/account/applications/:client_id/revoke', { post: [...action, revokeApplication] });
}

/** Login and what belongs to an account. */
export function accountRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  const { rateLimits } = web.deps.config;
  route(router, '/login', {
    get: [browserSession, loginPage(web)],
    head: true,
    post: [formOrJson, ...limitAttempts(web, 'login', rateLimits.login, 'email'), browserSession, csrf, login(web)],
  });
  registrationRoutes(router, web);
  passwordRoutes(router, web);
  ownAccountRoutes(router, web);
  route(router, '/logout', { get: [browserSession, logoutPage(web)], post: [formOrJson, browserSession, csrf, logout] });
  return router;
}
