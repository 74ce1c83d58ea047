import { Router, type RequestHandler } from 'express';
import { browserSession } from '../http/auth/browser-session.js';
import { ownUiCors, preflight } from '../http/auth/cors.js';
import { csrf } from '../http/auth/csrf.js';
import { chooseLanguage } from '../http/pages/language-switch.js';
import { form, formOrJson } from '../http/request/form.js';
import { confirmed } from '../http/confirmation/ask-to-confirm.js';
import { limitProofs, ownNames } from '../http/confirmation/confirmation.js';
import { route } from '../http/routes.js';
import type { Web } from '../http/web.js';
import { changeOwnPassword, changeOwnProfile, revokeOtherSessions, revokeProviderToken, revokeSession, unlink } from './account-actions.js';
import { deleteOwnAccount } from './account-deletion.js';
import { applicationsPage, blockApplication, endAgents, revokeApplication, unblockApplication } from './applications.js';
import { accountPage, ownData } from './account-page.js';
import {
  addOwnPasskey,
  canAdd,
  forgetAllDevices,
  forgetDevice,
  listOwn,
  passkeyRegistrationOptions,
  removeOwn,
  renameOwn,
  renewOwnRecoveryCodes,
  switchOwnTwoStep,
} from './authenticators.js';
import { confirm, confirmOptions, confirmPage } from './confirm.js';
import { accept, invitationPage, registerInvited } from './invitation.js';
import { leave, leavePage } from './memberships.js';
import { limitInvitations, limitAttempts, limitMails, limitOptions, limitRecovery, limitReset, limitSignedIn } from './limits.js';
import { logout, logoutPage } from './logout.js';
import { addressCodePage, askForAddress, proveNewAddress } from './email-change.js';
import { forgot, forgotPage, reset, resetPage } from './password-reset.js';
import { review, reviewPage } from './password-review.js';
import { showRelatedOrigins } from './related-origins.js';
import { complete } from './register-complete.js';
import { registerOptions } from './register-passkey.js';
import { verifyEmailCode, emailCodePage } from './register-verify.js';
import { completionOpen, register, registerPage, registrationOpen, resend } from './register.js';
import { passkeysOpen } from './sign-in/passkey.js';
import { signInRoutes } from './sign-in/routes.js';
import { signedIn } from './signed-in.js';
import { step } from './step.js';
import { beginTotp, verifyTotp } from './totp.js';

/** The steps of a registration; all of them count against one limit per address. */
function registrationRoutes(router: Router, web: Web): void {
  const limits = (field: string) => limitAttempts(web, 'register', web.deps.config.rateLimits.register, field);
  const checks = (field: string, open = registrationOpen as RequestHandler) => [formOrJson, ...limits(field), open, browserSession, csrf];
  const page = [registrationOpen, browserSession];
  step(router, '/register', {
    get: [...page, registerPage(web)],
    head: true,
    post: [formOrJson, ...limits('email'), ...limitMails(web, 'register'), registrationOpen, browserSession, csrf, register(web)],
  });
  step(router, '/register/verify', { get: [...page, emailCodePage(web)], post: [...checks('registration_id'), verifyEmailCode(web)] });
  step(router, '/register/resend', { post: [...checks('registration_id'), resend(web)] });
  step(router, '/register/passkey/options', {
    post: [formOrJson, limitOptions(web), completionOpen, passkeysOpen, browserSession, csrf, registerOptions],
  });
  step(router, '/register/complete', { post: [...checks('registration_token', completionOpen), complete(web)] });
}

/** Invitations: whoever holds the token. Counted by address, though nobody guesses 256 bits. */
function invitationRoutes(router: Router, web: Web): void {
  const limit = limitInvitations(web);
  route(router, '/invitations/:token', {
    get: [limit, browserSession, invitationPage(web)],
    head: true,
    post: [form, limit, browserSession, csrf, accept(web)],
  });
  route(router, '/invitations/:token/register', { post: [form, limit, browserSession, csrf, registerInvited(web)] });
}

/** Recovery: counted by address, by the mails to the submitted one, a known browser by itself, and by the reset whose code is tried. */
function passwordRoutes(router: Router, web: Web): void {
  const reviewLimits = limitAttempts(web, 'password', web.deps.config.rateLimits.login, 'review_token');
  step(router, '/password/forgot', {
    get: [browserSession, forgotPage(web)],
    head: true,
    post: [formOrJson, ...limitRecovery(web), browserSession, csrf, forgot(web)],
  });
  step(router, '/password/reset', {
    get: [browserSession, resetPage(web)],
    head: true,
    post: [formOrJson, ...limitReset(web), browserSession, csrf, reset(web)],
  });
  step(router, '/password/reset/review', {
    get: [browserSession, reviewPage(web)],
    post: [formOrJson, ...reviewLimits, browserSession, csrf, review],
  });
}

function ownAccountRoutes(router: Router, web: Web): void {
  const action = [formOrJson, browserSession, signedIn, csrf];
  route(router, '/account', { get: [ownUiCors, browserSession, signedIn, accountPage(web)], head: true, options: [ownUiCors, preflight] });
  route(router, '/account/data', { get: [browserSession, signedIn, ownData], head: true });
  step(router, '/account/profile', { post: [...action, changeOwnProfile(web)] });
  const limit = limitSignedIn(web, 'account_password', web.deps.config.rateLimits.login);
  step(router, '/account/password', { post: [formOrJson, browserSession, signedIn, limit, csrf, changeOwnPassword(web)] });
  const mails = limitSignedIn(web, 'account_email', web.deps.config.rateLimits.register);
  const ask = [formOrJson, browserSession, signedIn, mails, ...limitMails(web, 'register'), csrf];
  step(router, '/account/email', { post: [...ask, ...confirmed(web), askForAddress(web)] });
  const guess = limitSignedIn(web, 'account_email_code', web.deps.config.rateLimits.login);
  step(router, '/account/email/verify', {
    get: [browserSession, signedIn, addressCodePage(web)],
    post: [formOrJson, browserSession, signedIn, guess, csrf, proveNewAddress(web)],
  });
  step(router, '/account/sessions/revoke_others', { post: [...action, revokeOtherSessions] });
  step(router, '/account/sessions/:id/revoke', { post: [...action, revokeSession] });
  step(router, '/account/identities/:id/unlink', { post: [...action, ...confirmed(web, { code: 'fresh_sign_in_required' }), unlink(web)] });
  step(router, '/account/delete', { post: [...action, ...confirmed(web), deleteOwnAccount(web)] });
  route(router, '/account/organizations/:id/leave', {
    get: [browserSession, signedIn, leavePage(web)],
    head: true,
    post: [...action, ...confirmed(web), leave(web)],
  });
  step(router, '/account/provider_tokens/:id/revoke', { post: [...action, revokeProviderToken] });
  route(router, '/account/applications', {
    get: [ownUiCors, browserSession, signedIn, applicationsPage(web)],
    head: true,
    options: [ownUiCors, preflight],
  });
  step(router, '/account/applications/end_agents', { post: [...action, endAgents] });
  step(router, '/account/applications/:client_id/revoke', { post: [...action, revokeApplication] });
  step(router, '/account/applications/:client_id/block', { post: [...action, blockApplication] });
  step(router, '/account/applications/:client_id/unblock', { post: [...action, unblockApplication] });
}

/** Options for ceremonies with a passkey: a page takes new ones every few minutes. */
const optionsLimit = { limit: 60, windowSeconds: 60 } as const;

/** What signs a person in beside a password and a provider; each change takes a confirmation. */
function signInMethodRoutes(router: Router, web: Web): void {
  const at = '/account/authenticators';
  const signedInOnly = [formOrJson, browserSession, signedIn];
  const change = [...signedInOnly, csrf, ...confirmed(web)];
  const options = [...signedInOnly, limitSignedIn(web, 'passkey_options', optionsLimit), csrf];
  const guess = limitSignedIn(web, 'account_totp', web.deps.config.rateLimits.login);
  route(router, at, { get: [ownUiCors, browserSession, signedIn, listOwn], head: true, options: [ownUiCors, preflight] });
  step(router, `${at}/passkey/options`, { post: [...options, canAdd('passkey'), ...confirmed(web), passkeyRegistrationOptions] });
  step(router, `${at}/passkey`, { post: [...change, canAdd('passkey'), addOwnPasskey(web)] });
  step(router, `${at}/totp`, { post: [...change, canAdd('totp'), beginTotp(web)] });
  step(router, `${at}/totp/verify`, { post: [...signedInOnly, guess, csrf, ...confirmed(web), canAdd('totp'), verifyTotp(web)] });
  step(router, `${at}/recovery_codes`, { post: [...change, renewOwnRecoveryCodes(web)] });
  step(router, `${at}/:id/rename`, { post: [...change, renameOwn(web)] });
  step(router, `${at}/:id/remove`, { post: [...change, removeOwn(web)] });
  step(router, '/account/two_step', { post: [...change, switchOwnTwoStep(web)] });
  step(router, '/account/devices/forget_all', { post: [...change, forgetAllDevices] });
  step(router, '/account/devices/:id/forget', { post: [...change, forgetDevice] });
  step(router, '/account/confirm', {
    get: [browserSession, confirmPage(web)],
    post: [...signedInOnly, ...limitProofs(web, ownNames), csrf, confirm(web)],
  });
  step(router, '/account/confirm/passkey/options', { post: [...options, confirmOptions] });
}

export function accountRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  signInRoutes(router, web);
  registrationRoutes(router, web);
  invitationRoutes(router, web);
  passwordRoutes(router, web);
  ownAccountRoutes(router, web);
  signInMethodRoutes(router, web);
  route(router, '/language', { get: [chooseLanguage], post: [form, browserSession, csrf, chooseLanguage] });
  route(router, '/.well-known/webauthn', { get: [showRelatedOrigins], head: true });
  step(router, '/logout', { get: [browserSession, logoutPage(web)], post: [formOrJson, browserSession, csrf, logout] });
  return router;
}
