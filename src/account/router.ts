import { Router } from 'express';
import { browserSession } from '../http/auth/browser-session.js';
import { ownUiCors, preflight } from '../http/auth/cors.js';
import { csrf } from '../http/auth/csrf.js';
import { formOrJson } from '../http/request/form.js';
import { freshSignIn } from '../http/auth/fresh-sign-in.js';
import { route } from '../http/routes.js';
import type { Web } from '../http/web.js';
import { changeOwnPassword, changeOwnProfile, revokeApplication, revokeOtherSessions, revokeSession, unlink } from './account-actions.js';
import { accountPage } from './account-page.js';
import { limitAttempts, limitMails, limitSignedIn } from './limits.js';
import { logout, logoutPage } from './logout.js';
import { forgot, forgotPage, reset, resetPage } from './password-reset.js';
import { review, reviewPage } from './password-review.js';
import { complete } from './register-complete.js';
import { verify, verifyPage } from './register-verify.js';
import { register, registerPage, registrationOpen, resend } from './register.js';
import { signInRoutes } from './sign-in/routes.js';
import { signedIn } from './signed-in.js';
import { step } from './step.js';

/** The steps of a registration; all of them count against one limit per address. */
function registrationRoutes(router: Router, web: Web): void {
  const limits = (field: string) => limitAttempts(web, 'register', web.deps.config.rateLimits.register, field);
  const checks = (field: string) => [formOrJson, ...limits(field), registrationOpen, browserSession, csrf];
  const page = [registrationOpen, browserSession];
  step(router, '/register', {
    get: [...page, registerPage(web)],
    head: true,
    post: [formOrJson, ...limits('email'), limitMails(web, 'register'), registrationOpen, browserSession, csrf, register(web)],
  });
  step(router, '/register/verify', { get: [...page, verifyPage(web)], post: [...checks('registration_id'), verify(web)] });
  step(router, '/register/resend', { post: [...checks('registration_id'), resend(web)] });
  step(router, '/register/complete', { post: [...checks('registration_token'), complete(web)] });
}

/** Recovery: counted by address, by submitted email and by the reset whose code is tried. */
function passwordRoutes(router: Router, web: Web): void {
  const limits = (field: string) => limitAttempts(web, 'password', web.deps.config.rateLimits.login, field);
  step(router, '/password/forgot', {
    get: [browserSession, forgotPage(web)],
    head: true,
    post: [formOrJson, ...limits('email'), limitMails(web, 'password'), browserSession, csrf, forgot(web)],
  });
  step(router, '/password/reset', {
    get: [browserSession, resetPage(web)],
    head: true,
    post: [formOrJson, ...limits('reset_id'), browserSession, csrf, reset(web)],
  });
  step(router, '/password/reset/review', {
    get: [browserSession, reviewPage(web)],
    post: [formOrJson, ...limits('review_token'), browserSession, csrf, review],
  });
}

/** What a person does with the own account. */
function ownAccountRoutes(router: Router, web: Web): void {
  const action = [formOrJson, browserSession, signedIn, csrf];
  route(router, '/account', { get: [ownUiCors, browserSession, signedIn, accountPage(web)], head: true, options: [ownUiCors, preflight] });
  step(router, '/account/profile', { post: [...action, changeOwnProfile(web)] });
  const limit = limitSignedIn(web, 'account_password', web.deps.config.rateLimits.login);
  step(router, '/account/password', { post: [formOrJson, browserSession, signedIn, limit, csrf, changeOwnPassword(web)] });
  step(router, '/account/sessions/revoke_others', { post: [...action, revokeOtherSessions] });
  step(router, '/account/sessions/:id/revoke', { post: [...action, revokeSession] });
  step(router, '/account/identities/:id/unlink', { post: [...action, ...freshSignIn(web), unlink(web)] });
  step(router, '/account/applications/:client_id/revoke', { post: [...action, revokeApplication] });
}

/** Login and what belongs to an account. */
export function accountRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  signInRoutes(router, web);
  registrationRoutes(router, web);
  passwordRoutes(router, web);
  ownAccountRoutes(router, web);
  step(router, '/logout', { get: [browserSession, logoutPage(web)], post: [formOrJson, browserSession, csrf, logout] });
  return router;
}
