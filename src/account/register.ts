import type { NextFunction, Request, Response } from 'express';
import { isEmailDomainAllowed } from '../domain/registration/email-domains.js';
import {
  findProvenRegistration,
  findRegistration,
  isInvited,
  resendCode,
  resendPause,
  startRegistration,
} from '../domain/registration/registration.js';
import type { PasscodeRow } from '../db/tables/passcodes.js';
import { PageError } from '../errors.js';
import { formPage } from '../http/auth/csrf.js';
import { errorMessage } from '../http/pages/error-texts.js';
import { queryOf, wantsJson } from '../http/request/form.js';
import { originOf } from '../http/pages/mail-origin.js';
import { safeReturnTo } from '../http/request/return-to.js';
import type { Web } from '../http/web.js';
import { normalizeEmail, type EmailAddress } from '../lib/email-address.js';
import { bodyReturnTo, bodyText } from './fields.js';
import { connectionButtons, pendingClient, pendingFormAction } from './sign-in/login.js';
import { pageErrors, refusalError, refuseFields, type StepRefusal } from './refusal.js';
import { renderEmailCode, verifyPath } from './register-verify.js';
import { pageClient, shownNameOf } from '../http/pages/shown-client.js';
import { wordsOf } from '../http/pages/words.js';
import { message, waitMessage } from '../lib/languages/messages.js';

const registrationDisabled = () => new PageError(403, 'registration_disabled', errorMessage('registration_disabled'));

/** Refuses every step, also of a registration that is half done, where registration is switched off (specification 4.3.5). */
export function registrationOpen(req: Request, _res: Response, next: NextFunction): void {
  next(req.ctx.environment.registration_enabled ? undefined : registrationDisabled());
}

/** The same for the last step, which an invitation opens (specification 16.10.6). */
export async function completionOpen(req: Request, _res: Response, next: NextFunction): Promise<void> {
  const registration = req.ctx.environment.registration_enabled
    ? null
    : await findProvenRegistration(req.ctx, bodyText(req, 'registration_token'));
  next(req.ctx.environment.registration_enabled || (registration && isInvited(registration)) ? undefined : registrationDisabled());
}

async function renderRegister(
  web: Web,
  req: Request,
  res: Response,
  state: { return_to: string | null; email: string; refusal?: StepRefusal },
): Promise<void> {
  const client = await pendingClient(req, state.return_to);
  const words = wordsOf(req);
  const title = client ? words.t('register.title_for', { client: shownNameOf(words, client) }) : words.t('register.title');
  web.renderPage(
    res,
    'account/register',
    {
      ...formPage(req, res, title),
      client: pageClient(words, client),
      return_to: state.return_to ?? '',
      connections: await connectionButtons(req, client),
      values: { email: state.email },
      errors: state.refusal && pageErrors(req, state.refusal),
    },
    { status: state.refusal?.status ?? 200, formAction: pendingFormAction(req, state.return_to) },
  );
}

/** GET /register. */
export const registerPage = (web: Web) => async (req: Request, res: Response) => {
  const query = queryOf(req);
  const return_to = safeReturnTo(query.get('return_to'));
  if (req.session && return_to === null) return res.redirect(303, '/account');
  await renderRegister(web, req, res, { return_to, email: query.get('login_hint')?.slice(0, 254) ?? '' });
};

/** The address, or why nobody can have it here; the same for a known and an unknown one. */
export function readAddress(req: Request): EmailAddress | StepRefusal {
  const typed = bodyText(req, 'email');
  const address = normalizeEmail(typed);
  if (!address) return { status: 422, code: 'invalid_email', fields: { email: [typed.trim() === '' ? 'required' : 'invalid_email'] } };
  if (!isEmailDomainAllowed(req.ctx.environment, address.email_key)) {
    return { status: 422, code: 'domain_not_allowed', fields: { email: ['domain_not_allowed'] } };
  }
  return address;
}

/** What JSON answers once a code is on its way. */
function started(req: Request, res: Response, registration: PasscodeRow): void {
  const expires_in = Math.round((registration.expires_at.getTime() - req.ctx.clock.now().getTime()) / 1000);
  res.status(202).set('Cache-Control', 'no-store').json({ registration_id: registration.id, expires_in, resend_after: resendPause });
}

/** POST /register (specification 4.3.2): a code is on its way, whether or not the address has an account already. */
export const register = (web: Web) => async (req: Request, res: Response) => {
  const return_to = bodyReturnTo(req);
  const address = readAddress(req);
  if ('status' in address) {
    if (wantsJson(req)) throw refusalError(address);
    return renderRegister(web, req, res, { return_to, email: bodyText(req, 'email').slice(0, 254), refusal: address });
  }
  const registration = await startRegistration(req.ctx, address, originOf(req));
  if (wantsJson(req)) return started(req, res, registration);
  res.redirect(303, verifyPath(registration.id, return_to));
};

/** POST /register/resend: another code, once a minute and five times in an hour; the earlier one dies. */
export const resend = (web: Web) => async (req: Request, res: Response) => {
  const registration_id = bodyText(req, 'registration_id');
  const return_to = bodyReturnTo(req);
  const missing = refuseFields({ registration_id: registration_id === '' ? ['required'] : [] });
  if (missing) throw refusalError(missing);
  const verdict = await resendCode(req.ctx, registration_id, originOf(req));
  if (verdict.outcome === 'sent') {
    if (wantsJson(req)) return started(req, res, verdict.registration);
    return res.redirect(303, `${verifyPath(registration_id, return_to)}&sent=again`);
  }
  const refusal: StepRefusal =
    verdict.outcome === 'expired'
      ? { status: 410, code: 'code_expired', text: message('refusal.registration_expired') }
      : { status: 429, code: 'rate_limited', text: waitMessage('code', verdict.retry_after), retry_after: verdict.retry_after };
  const registration = await findRegistration(req.ctx, registration_id);
  if (wantsJson(req) || !registration || registration.consumed_at) throw refusalError(refusal);
  if (refusal.retry_after !== undefined) res.set('Retry-After', String(refusal.retry_after));
  renderEmailCode(web, req, res, { registration, return_to, refusal });
};
