import { fullName } from '../../lib/languages/languages.js';
import { languageOf } from '../../http/pages/language.js';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { sessionOf } from '../../http/auth/browser-session.js';
import { enrollable } from '../../domain/authenticators/enrollable.js';
import {
  activateTotpOf,
  addPasskey,
  defaultName,
  makeRecoveryCodes,
  startTotp,
  totpPendingLifetime,
  type EnrolmentBasis,
} from '../../domain/authenticators/enrolment.js';
import { creationOptions, verifyNewPasskey } from '../../domain/authenticators/passkey-registration.js';
import { confirmationClass, isConfirmed } from '../../domain/sessions/confirmation.js';
import type { SessionProof } from '../../domain/proofs/proofs.js';
import { providerAccountOf } from '../../domain/sessions/half-sign-ins.js';
import { isGuest } from '../../domain/sign-ins/guest.js';
import type { PresentedProof } from '../../domain/sign-ins/proof-methods.js';
import { graceEnd, hasFactor } from '../../domain/authenticators/next-step.js';
import { isPasskey, listAuthenticatorsOfUser } from '../../db/tables/authenticators.js';
import { PageError } from '../../errors.js';
import { browserSecret, browserSecretOf } from '../../http/auth/browser-secret.js';
import { isStepUp, type Claimant } from '../../http/auth/claimant.js';
import { isTaken, onwardPath, signInExpired, takeStep, type TakenStep } from '../../http/auth/sign-in.js';
import { errorMessage } from '../../http/pages/error-texts.js';
import { isLanguageSwitch } from '../../http/pages/language-switch.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { queryOf, wantsJson } from '../../http/request/form.js';
import { safeReturnTo, withReturnTo } from '../../http/request/return-to.js';
import type { Web } from '../../http/web.js';
import { bodyReturnTo, bodyText, credentialIn } from '../fields.js';
import { showRecoveryCodes } from '../recovery-codes-page.js';
import { refusalError, type StepRefusal } from '../refusal.js';
import { pendingTotp, renderTotp, totpExpired, wrongTotpCode, type TotpForm } from '../totp.js';
import { answerStep, stepBody } from './answer.js';
import { requestedAcrValues, renderEnroll } from './enroll-page.js';
import { wordsOf } from '../../http/pages/words.js';
import { message, type Message } from '../../lib/languages/messages.js';

/** Whether a session may be given a factor: it was confirmed a moment ago, and is asked for a higher class. */
const mayStepUp = (req: Request, { user, proofs, sign_in }: Claimant): boolean =>
  sign_in === null && isStepUp(req) && isConfirmed(req.ctx, proofs, confirmationClass(user));

/** Whether a half sign-in has to enrol: its person has no factor. One that was added meanwhile is what is asked for, at a new sign-in. */
const mustEnroll = ({ user, sign_in }: Claimant): boolean => sign_in?.stage === 'enroll' && !hasFactor(user);

/** @throws {PageError} 403 for an organization's guest: whoever adds a factor to an account proves the account, and not a word of that provider's */
async function refuseGuest({ ctx }: Request, { user, sign_in }: Claimant, return_to: string | null): Promise<void> {
  if (!sign_in || !(await isGuest(ctx, { user, proofs: sign_in.proofs, provider_account: providerAccountOf(ctx, sign_in) }))) return;
  const next = { href: withReturnTo('/login', {}, return_to), label: 'common.sign_in' } as const;
  throw new PageError(403, 'factor_required', message('refusal.enroll_first'), {}, undefined, next);
}

/** Whoever has to enrol a factor here; null for everybody else. Needs `findClaimant` before. @throws {PageError} 403 for whoever may not */
async function enrolling(req: Request, return_to: string | null): Promise<Claimant | null> {
  const { claimant = null } = req;
  if (!claimant || !(mustEnroll(claimant) || mayStepUp(req, claimant))) return null;
  await refuseGuest(req, claimant, return_to);
  return claimant;
}

/** Middleware: lets pass whoever has to enrol a factor. */
export async function requireEnrolling(req: Request, _res: Response, next: NextFunction): Promise<void> {
  const return_to = bodyReturnTo(req);
  if (!(await enrolling(req, return_to))) throw signInExpired(return_to);
  next();
}

function claimantOf(req: Request): Claimant {
  if (!req.claimant) throw new Error('requireEnrolling must come before');
  return req.claimant;
}

function basisOf(req: Request): EnrolmentBasis {
  const { sign_in } = claimantOf(req);
  return sign_in ? { sign_in_id: sign_in.id } : { session_id: sessionOf(req).id };
}

/** Middleware: lets pass where people can add the kind; for the class `phr` only a passkey does. */
export const canEnroll =
  (kind: 'passkey' | 'totp'): RequestHandler =>
  (req, _res, next) => {
    const can = enrollable(req.ctx.environment)[kind] && (kind === 'passkey' || requestedAcrValues(req) !== 'phr');
    next(
      can ? undefined : new PageError(403, kind === 'passkey' ? 'passkeys_disabled' : 'totp_disabled', errorMessage('enrollment_disabled')),
    );
  };

/** GET /login/enroll: which factors can be enrolled, and until when that can wait. */
export const enrollPage = (web: Web) => async (req: Request, res: Response) => {
  const return_to = safeReturnTo(queryOf(req).get('return_to'));
  const claimant = await enrolling(req, return_to);
  if (claimant) return renderEnroll(web, req, res, { claimant, return_to });
  if (req.claimant?.sign_in?.stage === 'verify') return res.redirect(303, withReturnTo('/login/verify', {}, return_to));
  // Somebody signed in shows that it is still them before anything is added.
  if (req.session && isStepUp(req)) return res.redirect(303, withReturnTo('/account/confirm', {}, req.originalUrl));
  res.redirect(303, withReturnTo('/login', {}, return_to));
};

async function refuse(web: Web, req: Request, res: Response, refusal: StepRefusal): Promise<void> {
  if (wantsJson(req)) throw refusalError(refusal);
  await renderEnroll(web, req, res, { claimant: claimantOf(req), return_to: bodyReturnTo(req), refusal });
}

/** @throws {PageError} 410 when the half sign-in has ended meanwhile */
async function take(req: Request, res: Response, proof: PresentedProof<'enrolled' | 'skip'>): Promise<TakenStep> {
  const return_to = bodyReturnTo(req);
  const reached = await takeStep(req, res, proof, { current: claimantOf(req).sign_in ?? sessionOf(req), return_to });
  if (!isTaken(reached)) throw signInExpired(return_to);
  return reached;
}

/** Goes on with the factor that was enrolled, which is a proof of having it. Recovery codes are shown this once. */
async function goOn(web: Web, req: Request, res: Response, proof: SessionProof, codes: string[] | null): Promise<void> {
  const claimant = claimantOf(req);
  const return_to = bodyReturnTo(req);
  const onward = await take(req, res, { method: 'enrolled', proof });
  if (codes === null) return answerStep(req, res, onward, return_to);
  const next = { href: onwardPath(onward, return_to), label: wordsOf(req).t('recovery_codes.kept') };
  const body = await stepBody(req, onward, return_to);
  showRecoveryCodes(web, req, res, { status: 200, codes, body, next, email: claimant.user.email });
}

/** POST /login/enroll/passkey/options: what `navigator.credentials.create` takes. */
export async function enrollOptions(req: Request, res: Response): Promise<void> {
  const { user } = claimantOf(req);
  const exclude = (await listAuthenticatorsOfUser(req.ctx.scope, user.id)).filter(isPasskey);
  const name = fullName(languageOf(req), user) || user.email;
  const making = { purpose: 'enroll', browser: browserSecret(req, res), user: { id: user.id, email: user.email, name }, exclude } as const;
  res.set('Cache-Control', 'no-store').json(await creationOptions(req.ctx, making));
}

const passkeyRefusals = {
  refused: { status: 422, code: 'passkey_refused' },
  expired: { status: 410, code: 'challenge_expired' },
  passkey_exists: { status: 409, code: 'passkey_exists' },
  too_many: { status: 409, code: 'too_many' },
  not_found: { status: 410, code: 'sign_in_expired' },
} as const satisfies Record<string, StepRefusal>;

/** POST /login/enroll/passkey: adds the passkey that the browser has made, and goes on. Who has no recovery codes gets them with it. */
export const enrollPasskey = (web: Web) => async (req: Request, res: Response) => {
  const { user } = claimantOf(req);
  const origin = originOf(req);
  const verified = await verifyNewPasskey(req.ctx, {
    purpose: 'enroll',
    browser: browserSecretOf(req) ?? '',
    user_id: user.id,
    host: req.headers.host,
    credential: credentialIn(req),
  });
  if (verified.outcome !== 'verified') return refuse(web, req, res, passkeyRefusals[verified.outcome]);
  const added = await addPasskey(req.ctx, {
    user_id: user.id,
    passkey: verified.passkey,
    name: defaultName('passkey'),
    origin,
    basis: basisOf(req),
  });
  if (added.outcome !== 'added') return refuse(web, req, res, passkeyRefusals[added.outcome]);
  const has = user.authenticator_kinds.includes('recovery_codes');
  await goOn(web, req, res, added.proof, has ? null : await makeRecoveryCodes(req.ctx, user.id, origin));
};

const enrolmentForm = (req: Request, { user }: Claimant): TotpForm => {
  const [return_to, acr_values] = [bodyReturnTo(req) ?? '', requestedAcrValues(req)];
  const query = new URLSearchParams({ ...(return_to !== '' && { return_to }), ...(acr_values !== '' && { acr_values }) }).toString();
  return {
    action: '/login/enroll/totp/verify',
    email: user.email,
    back: { href: `/login/enroll${query === '' ? '' : `?${query}`}`, label: wordsOf(req).t('enroll.choose_another') },
    hidden: { return_to, acr_values },
    title: wordsOf(req).t('totp.title_enroll'),
  };
};

/** POST /login/enroll/totp: a secret for an authenticator app; it counts once its first code was given. */
export const enrollTotp = (web: Web) => async (req: Request, res: Response) => {
  const claimant = claimantOf(req);
  const started = await startTotp(req.ctx, { user_id: claimant.user.id, name: defaultName('totp') });
  if (started.outcome !== 'started') return refuse(web, req, res, passkeyRefusals[started.outcome]);
  const { authenticator_id, secret, otpauth_uri, expires_in } = started;
  if (!wantsJson(req)) {
    const expires_at = new Date(req.ctx.clock.now().getTime() + totpPendingLifetime * 1000);
    return renderTotp(web, req, res, { authenticator_id, secret, otpauth_uri, expires_at }, undefined, enrolmentForm(req, claimant));
  }
  res.status(201).set('Cache-Control', 'no-store').json({ authenticator_id, secret, otpauth_uri, expires_in });
};

/** POST /login/enroll/totp/verify: the first code makes the app good, and the sign-in goes on. */
export const enrollTotpVerify = (web: Web) => async (req: Request, res: Response) => {
  const claimant = claimantOf(req);
  const [authenticator_id, code] = [bodyText(req, 'authenticator_id'), bodyText(req, 'code')];
  const again = async (error?: Message) => {
    const pending = await pendingTotp(req, authenticator_id, claimant.user);
    if (!pending) return refuse(web, req, res, totpExpired);
    await renderTotp(web, req, res, pending, error, enrolmentForm(req, claimant));
  };
  if (isLanguageSwitch(req, res)) return again();
  const input = { authenticator_id, code, basis: basisOf(req) };
  const added = await activateTotpOf(req.ctx, claimant.user.id, input, originOf(req));
  if (added.outcome === 'added') return goOn(web, req, res, added.proof, added.recovery_codes);
  if (added.outcome === 'expired') return refuse(web, req, res, totpExpired);
  if (wantsJson(req)) throw refusalError({ status: 422, code: 'invalid_code', text: wrongTotpCode, fields: { code: ['invalid_code'] } });
  await again(wrongTotpCode);
};

/** POST /login/enroll/skip: goes on without a factor while the grace time lasts. */
export async function skipEnrolment(req: Request, res: Response): Promise<void> {
  const claimant = claimantOf(req);
  if (!claimant.sign_in || graceEnd(req.ctx, claimant.user) === null) {
    throw new PageError(403, 'factor_required', message('refusal.enroll_first'));
  }
  await answerStep(req, res, await take(req, res, { method: 'skip' }), bodyReturnTo(req));
}
