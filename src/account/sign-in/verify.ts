import type { Request, Response } from 'express';
import {
  secondStepMethodNames,
  secondStepMethods,
  type SecondStepAnswer,
  type SecondStepMethod,
  type SecondStepRefusal,
} from '../../domain/sign-ins/second-step.js';
import { requestOptions } from '../../domain/authenticators/passkey-sign-in.js';
import { sendSecondStepCode } from '../../domain/sign-ins/email-codes.js';
import { PageError, RateLimitedError } from '../../errors.js';
import { sessionOf } from '../../http/auth/browser-session.js';
import { browserSecret } from '../../http/auth/browser-secret.js';
import { findHalfSignIn } from '../../domain/sessions/half-sign-ins.js';
import { signInTokenOf, type Claimant } from '../../http/auth/claimant.js';
import { isTaken, signInExpired, takeStep } from '../../http/auth/sign-in.js';
import { errorMessage } from '../../http/pages/error-texts.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { queryOf, wantsJson } from '../../http/request/form.js';
import { safeReturnTo, withReturnTo } from '../../http/request/return-to.js';
import type { Web } from '../../http/web.js';
import { bodyReturnTo, bodyText, credentialIn } from '../fields.js';
import { refusalError, refuseFields, type StepRefusal } from '../refusal.js';
import { answerStep } from './answer.js';
import { requestedAcrValues } from './enroll-page.js';
import { renderSecondStep } from './verify-page.js';
import { message, type Message } from '../../lib/languages/messages.js';

/** Whoever has to prove a factor here; null for everybody else. Needs `findClaimant` before. */
const verifying = (req: Request): Claimant | null =>
  req.claimant && (req.claimant.sign_in === null || req.claimant.sign_in.stage === 'verify') ? req.claimant : null;

const isMethod = (value: string): value is SecondStepMethod => (secondStepMethodNames as readonly string[]).includes(value);

/** GET /login/verify: the second step, by the method of the query or the one used last. Strangers go to the sign-in page. */
export const secondStepPage = (web: Web) => async (req: Request, res: Response) => {
  const query = queryOf(req);
  const return_to = safeReturnTo(query.get('return_to'));
  const claimant = verifying(req);
  if (!claimant) return res.redirect(303, withReturnTo(req.claimant ? '/login/enroll' : '/login', {}, return_to));
  const requested = query.get('method') ?? '';
  await renderSecondStep(web, req, res, {
    claimant,
    return_to,
    method: isMethod(requested) ? requested : null,
    sent: query.get('sent') === '1',
  });
};

/** POST /login/verify/passkey/options: the request for one of the claimant's passkeys. */
export async function verifyOptions(req: Request, res: Response): Promise<void> {
  const claimant = verifying(req);
  if (!claimant) throw new PageError(401, 'login_required', errorMessage('login_required'));
  const purpose = claimant.sign_in ? 'second_step' : 'confirm';
  const using = { purpose, browser: browserSecret(req, res), user_id: claimant.user.id } as const;
  res.set('Cache-Control', 'no-store').json(await requestOptions(req.ctx, using));
}

/** POST /login/verify/email: a code by mail as the second step, where that is one. */
export async function verifyByEmail(req: Request, res: Response): Promise<void> {
  const return_to = bodyReturnTo(req);
  const claimant = verifying(req);
  if (!claimant) throw signInExpired(return_to);
  const methods = await secondStepMethods(req.ctx, claimant.user, claimant.proofs);
  if (!methods.includes('email')) throw new PageError(403, 'email_code_disabled', errorMessage('email_code_disabled'));
  const sent = await sendSecondStepCode(req.ctx, claimant.user, claimant.sign_in ?? sessionOf(req), originOf(req));
  const acr_values = requestedAcrValues(req);
  const fields = { method: 'email', sent: '1', ...(acr_values !== '' && { acr_values }) };
  if (!wantsJson(req)) return res.redirect(303, withReturnTo('/login/verify', fields, return_to));
  if (sent.outcome === 'too_soon') throw new RateLimitedError(sent.retry_after);
  const { expires_in, resend_after } = sent;
  res.status(202).set('Cache-Control', 'no-store').json({ expires_in, resend_after });
}

/** What was presented, or why that is nothing. */
function answerIn(req: Request): SecondStepAnswer | StepRefusal {
  const credential = credentialIn(req);
  if (credential !== undefined) return { method: 'passkey', credential };
  const [method, code] = [bodyText(req, 'method'), bodyText(req, 'code').trim().slice(0, 64)];
  const known = isMethod(method) && method !== 'passkey';
  const refusal = refuseFields({
    method: known ? [] : [method === '' ? 'required' : 'invalid_value'],
    code: code === '' ? ['required'] : [],
  });
  return known && refusal === null ? { method, code } : (refusal as StepRefusal);
}

const wrongTexts: Readonly<Record<SecondStepMethod, Message>> = {
  totp: message('refusal.app_code_wrong'),
  email: errorMessage('invalid_code'),
  recovery_code: message('refusal.recovery_code_wrong'),
  passkey: errorMessage('passkey_refused'),
};

const withAttempts = (first: Message, count: number): Message =>
  message('common.sentences', { first, second: message('refusal.attempts_left', { count }) });

/** Why a second step wasn't taken; `gone`: the half sign-in has ended. */
function refusalOf(method: SecondStepMethod, verdict: SecondStepRefusal, gone: boolean): StepRefusal {
  switch (verdict.outcome) {
    case 'wrong': {
      const { attempts_left } = verdict;
      const text = attempts_left === null ? wrongTexts[method] : withAttempts(wrongTexts[method], attempts_left);
      return {
        status: 422,
        code: 'invalid_code',
        text,
        fields: { code: ['invalid_code'] },
        extra: attempts_left === null ? {} : { attempts_left },
      };
    }
    case 'refused':
      return { status: 401, code: 'passkey_refused' };
    case 'expired':
      return { status: 410, code: gone ? 'sign_in_expired' : 'challenge_expired' };
    case 'locked': {
      const minutes = Math.ceil(verdict.retry_after / 60);
      const text = message('refusal.second_step_locked', { minutes });
      return { status: 429, code: 'second_factor_locked', text, retry_after: verdict.retry_after };
    }
    case 'method_unavailable':
      return { status: 403, code: 'second_factor_unavailable' };
  }
}

/** POST /login/verify: the second step. One right answer completes the sign-in; five wrong ones end it. */
export const verifySecondStep = (web: Web) => async (req: Request, res: Response) => {
  const return_to = bodyReturnTo(req);
  const claimant = verifying(req);
  if (!claimant) throw signInExpired(return_to);
  const answer = answerIn(req);
  const refuse = async (refusal: StepRefusal): Promise<void> => {
    const { retry_after, ...rest } = refusal;
    if (retry_after !== undefined) res.set('Retry-After', String(retry_after));
    if (refusal.code === 'sign_in_expired') throw signInExpired(return_to);
    if (wantsJson(req)) throw refusalError(rest);
    const requested = bodyText(req, 'method');
    await renderSecondStep(web, req, res, { claimant, return_to, method: isMethod(requested) ? requested : null, sent: true, refusal });
  };
  if ('status' in answer) return refuse(answer);
  const remember = ['on', 'true'].includes(String((req.body as Record<string, unknown>)['remember_device']));
  const reached = await takeStep(req, res, answer, { current: claimant.sign_in ?? sessionOf(req), return_to, remember });
  if (isTaken(reached)) return answerStep(req, res, reached, return_to);
  const gone = claimant.sign_in !== null && !(await findHalfSignIn(req.ctx, signInTokenOf(req) ?? ''));
  if (gone && !wantsJson(req)) throw signInExpired(return_to);
  await refuse(refusalOf(answer.method, reached, gone));
};
