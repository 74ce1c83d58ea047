import type { Request, Response } from 'express';
import { requestPasswordReset, resetPassword } from '../domain/credentials/password-reset.js';
import { clearSessionCookie } from '../http/auth/browser-session.js';
import { formPage } from '../http/auth/csrf.js';
import { keepDevice } from '../http/auth/device-cookie.js';
import { queryOf, wantsJson } from '../http/request/form.js';
import { originOf } from '../http/pages/mail-origin.js';
import { safeReturnTo, withReturnTo } from '../http/request/return-to.js';
import type { Web } from '../http/web.js';
import { RateLimitedError } from '../errors.js';
import { normalizeEmail } from '../lib/email-address.js';
import { inEnglish } from '../lib/languages/english.js';
import { message, waitMessage } from '../lib/languages/messages.js';
import { bodyReturnTo, bodyText } from './fields.js';
import { countRecoveryMail } from './limits.js';
import { pendingClient } from './sign-in/login.js';
import { emailCodeRefusal, pageErrors, refusalError, refuseFields, type StepRefusal } from './refusal.js';
import { answerReset } from './password-review.js';
import { pageClient } from '../http/pages/shown-client.js';
import { wordsOf } from '../http/pages/words.js';

async function renderForgot(
  web: Web,
  req: Request,
  res: Response,
  state: { email: string; return_to: string | null; refusal?: StepRefusal },
): Promise<void> {
  const client = await pendingClient(req, state.return_to);
  const base = formPage(req, res, wordsOf(req).t('forgot.title'));
  const errors = state.refusal && pageErrors(req, state.refusal);
  const model = {
    ...base,
    client: pageClient(wordsOf(req), client),
    return_to: state.return_to ?? '',
    values: { email: state.email },
    errors,
  };
  web.renderPage(res, 'account/password-forgot', model, { status: state.refusal?.status ?? 200 });
}

/** GET /password/forgot; somebody signed in finds the own address there. */
export const forgotPage = (web: Web) => async (req: Request, res: Response) => {
  const query = queryOf(req);
  const email = query.get('login_hint')?.slice(0, 254) ?? req.session?.user_email ?? '';
  await renderForgot(web, req, res, { email, return_to: safeReturnTo(query.get('return_to')) });
};

/** POST /password/forgot (specification 4.3): the same answer for any address. @throws {RateLimitedError} */
export const forgot = (web: Web) => async (req: Request, res: Response) => {
  const typed = bodyText(req, 'email');
  const return_to = bodyReturnTo(req);
  const address = normalizeEmail(typed);
  if (!address) {
    const code = typed.trim() === '' ? 'required' : 'invalid_email';
    const refusal: StepRefusal = { status: 422, code: 'invalid_email', fields: { email: [code] } };
    if (wantsJson(req)) throw refusalError(refusal);
    return renderForgot(web, req, res, { email: typed.slice(0, 254), return_to, refusal });
  }
  const wait = await countRecoveryMail(web, req, res, address.email_key);
  if (wait !== null) {
    const mailed = message('refusal.recovery_mailed');
    if (wantsJson(req)) throw new RateLimitedError(wait, inEnglish(mailed));
    const text = message('common.sentences', { first: waitMessage('requests', wait), second: mailed });
    res.set('Retry-After', String(wait));
    return renderForgot(web, req, res, { email: address.email, return_to, refusal: { status: 429, code: 'rate_limited', text } });
  }
  const reset = await requestPasswordReset(req.ctx, address, originOf(req));
  if (!wantsJson(req)) return res.redirect(303, withReturnTo('/password/reset', { reset_id: reset.reset_id }, return_to));
  res.status(202).set('Cache-Control', 'no-store').json(reset);
};

type ResetState = { reset_id: string; code: string; return_to: string | null; refusal?: StepRefusal };

function renderReset(web: Web, req: Request, res: Response, state: ResetState): void {
  const { environment } = req.ctx;
  const base = formPage(req, res, wordsOf(req).t('reset.title'));
  const { reset_id, code, refusal } = state;
  const errors = refusal && pageErrors(req, refusal);
  const { password_min_length } = environment;
  const model = { ...base, reset_id, password_min_length, return_to: state.return_to ?? '', values: { code }, errors };
  web.renderPage(res, 'account/password-reset', model, { status: refusal?.status ?? 200 });
}

/** GET /password/reset: `reset_id` from the step before, `code` from the mail's link. */
export const resetPage = (web: Web) => (req: Request, res: Response) => {
  const query = queryOf(req);
  const [reset_id = '', code = ''] = [query.get('reset_id'), query.get('code')?.slice(0, 64)];
  const return_to = safeReturnTo(query.get('return_to'));
  if (reset_id === '') return res.redirect(303, withReturnTo('/password/forgot', {}, return_to));
  renderReset(web, req, res, { reset_id: reset_id.slice(0, 64), code, return_to });
};

const missing = (req: Request) =>
  refuseFields(
    Object.fromEntries(['reset_id', 'code', 'password'].map((name) => [name, bodyText(req, name).trim() === '' ? ['required'] : []])),
  );

/** POST /password/reset (specification 4.5.2): sets the password, ends all sessions and refresh tokens; sign-in comes next. */
export const reset = (web: Web) => async (req: Request, res: Response) => {
  const [reset_id, code] = [bodyText(req, 'reset_id').slice(0, 64), bodyText(req, 'code').slice(0, 64)];
  const return_to = bodyReturnTo(req);
  const refuse = (refusal: StepRefusal): void => {
    if (wantsJson(req)) throw refusalError(refusal);
    if (refusal.retry_after !== undefined) res.set('Retry-After', String(refusal.retry_after));
    // The mail's link stays good for a refused password; a mistyped code isn't shown again.
    renderReset(web, req, res, { reset_id, code: refusal.fields?.['code'] || refusal.status === 410 ? '' : code, return_to, refusal });
  };
  const empty = missing(req);
  if (empty) return refuse(empty);
  const verdict = await resetPassword(req.ctx, { reset_id, code, password: bodyText(req, 'password'), origin: originOf(req) });
  if (verdict.outcome === 'refused') return refuse(refuseFields({ password: verdict.problems }) as StepRefusal);
  if (verdict.outcome !== 'reset') return refuse(emailCodeRefusal(verdict));
  keepDevice(req, res, verdict.user.id);
  if (req.session?.user_id === verdict.user.id) clearSessionCookie(req, res);
  await answerReset(req, res, verdict.user, return_to);
};
