import type { RequestHandler, Router } from 'express';
import type { RouteList } from '../../http/exact-routes.js';
import { browserSession } from '../../http/auth/browser-session.js';
import { findClaimant } from '../../http/auth/claimant.js';
import { csrf } from '../../http/auth/csrf.js';
import { formOrJson } from '../../http/request/form.js';
import type { Web } from '../../http/web.js';
import { limitAttempts, limitClaimant, limitCredential, limitEmail, limitMails, limitOptions } from '../limits.js';
import { login, loginPage } from './login.js';
import { step, stepMethods } from '../step.js';
import { codePage, codeVerifyPage, emailCodesOpen, proveCode, startCode } from './email-code.js';
import {
  canEnroll,
  enrollOptions,
  enrollPage,
  enrollPasskey,
  enrollTotp,
  enrollTotpVerify,
  requireEnrolling,
  skipEnrolment,
} from './enroll.js';
import { passkeySignInOptions, passkeysOpen, signInByPasskey } from './passkey.js';
import { verifySecondStep, verifyByEmail, verifyOptions, secondStepPage } from './verify.js';

/** The page that nearly everybody comes to, and its form. */
export function addLoginRoute(routes: RouteList, web: Web): void {
  const post = [formOrJson, ...limitEmail(web), browserSession, csrf, login(web)];
  routes.add('/login', stepMethods({ get: [browserSession, loginPage(web)], head: true, post }));
}

/** The other first steps: by passkey, by a code in the mail. All of them count in one window per address. */
function firstSteps(router: Router, web: Web): void {
  const byAddress = limitAttempts(web, 'login', web.deps.config.rateLimits.login, 'sign_in_id');
  const [perAddress] = byAddress as [RequestHandler];
  step(router, '/login/passkey/options', {
    post: [formOrJson, limitOptions(web), passkeysOpen, browserSession, csrf, passkeySignInOptions],
  });
  step(router, '/login/passkey', {
    post: [formOrJson, perAddress, limitCredential(web), passkeysOpen, browserSession, csrf, signInByPasskey(web)],
  });
  step(router, '/login/code', {
    get: [emailCodesOpen, browserSession, codePage(web)],
    head: true,
    post: [formOrJson, ...limitEmail(web), emailCodesOpen, ...limitMails(web, 'login'), browserSession, csrf, startCode(web)],
  });
  step(router, '/login/code/verify', {
    get: [emailCodesOpen, browserSession, codeVerifyPage(web)],
    post: [formOrJson, ...byAddress, emailCodesOpen, browserSession, csrf, proveCode(web)],
  });
}

/** The second step, by whoever has taken the first one, or is asked for a higher class. */
function secondSteps(router: Router, web: Web): void {
  const claimed = [formOrJson, ...limitClaimant(web), csrf];
  step(router, '/login/verify', { get: [browserSession, findClaimant, secondStepPage(web)], post: [...claimed, verifySecondStep(web)] });
  step(router, '/login/verify/passkey/options', {
    post: [formOrJson, limitOptions(web), browserSession, findClaimant, csrf, verifyOptions],
  });
  step(router, '/login/verify/email', { post: [...claimed, verifyByEmail] });
}

/** A factor is enrolled, because the policy wants one before anything else, or a higher class is asked for. */
function enrolments(router: Router, web: Web): void {
  const claimed = [formOrJson, ...limitClaimant(web), csrf, requireEnrolling];
  step(router, '/login/enroll', { get: [browserSession, findClaimant, enrollPage(web)] });
  step(router, '/login/enroll/passkey/options', {
    post: [formOrJson, limitOptions(web), browserSession, findClaimant, csrf, requireEnrolling, canEnroll('passkey'), enrollOptions],
  });
  step(router, '/login/enroll/passkey', { post: [...claimed, canEnroll('passkey'), enrollPasskey(web)] });
  step(router, '/login/enroll/totp', { post: [...claimed, canEnroll('totp'), enrollTotp(web)] });
  step(router, '/login/enroll/totp/verify', { post: [...claimed, canEnroll('totp'), enrollTotpVerify(web)] });
  step(router, '/login/enroll/skip', { post: [...claimed, skipEnrolment] });
}

/** Everything below /login. */
export function signInRoutes(router: Router, web: Web): void {
  firstSteps(router, web);
  secondSteps(router, web);
  enrolments(router, web);
}
