import type { Request, Response } from 'express';
import { findRegistration, completionTokenLifetime, verifyRegistration } from '../domain/registration/registration.js';
import type { PasscodeRow } from '../db/tables/passcodes.js';
import { formPage } from '../http/auth/csrf.js';
import { queryOf, wantsJson } from '../http/request/form.js';
import type { PageNotice } from '../http/pages/pages.js';
import { safeReturnTo } from '../http/request/return-to.js';
import type { Web } from '../http/web.js';
import { bodyReturnTo, bodyText } from './fields.js';
import { emailCodeRefusal, pageErrors, refusalError, refuseFields, type StepRefusal } from './refusal.js';
import { renderComplete } from './register-complete.js';
import { wordsOf } from '../http/pages/words.js';

export function verifyPath(registration_id: string, return_to: string | null): string {
  const query = new URLSearchParams({ registration_id, ...(return_to !== null && { return_to }) });
  return `/register/verify?${query}`;
}

export function renderEmailCode(
  web: Web,
  req: Request,
  res: Response,
  state: { registration: PasscodeRow; return_to: string | null; code?: string; refusal?: StepRefusal; notice?: PageNotice | null },
): void {
  const { registration, refusal } = state;
  web.renderPage(
    res,
    'account/register-verify',
    {
      ...formPage(req, res, wordsOf(req).t('code.title')),
      registration_id: registration.id,
      email: registration.email,
      expires_at: registration.expires_at.toISOString(),
      return_to: state.return_to ?? '',
      values: { code: state.code },
      errors: refusal && pageErrors(req, refusal),
      notice: state.notice,
    },
    { status: refusal?.status ?? 200 },
  );
}

/** GET /register/verify: for a registration that still waits for its code; else from the start. */
export const emailCodePage = (web: Web) => async (req: Request, res: Response) => {
  const query = queryOf(req);
  const return_to = safeReturnTo(query.get('return_to'));
  const registration = await findRegistration(req.ctx, query.get('registration_id') ?? '');
  if (!registration || registration.consumed_at) {
    return res.redirect(303, return_to === null ? '/register' : `/register?${new URLSearchParams({ return_to })}`);
  }
  const notice: PageNotice | null = query.get('sent') === 'again' ? { tone: 'good', text: wordsOf(req).t('code.sent_again') } : null;
  renderEmailCode(web, req, res, { registration, return_to, notice });
};

/** POST /register/verify (specification 4.4): a right code proves the address and gives a token for the last step. */
export const verifyEmailCode = (web: Web) => async (req: Request, res: Response) => {
  const [registration_id, code] = [bodyText(req, 'registration_id'), bodyText(req, 'code').slice(0, 64)];
  const return_to = bodyReturnTo(req);
  const missing = refuseFields({
    registration_id: registration_id === '' ? ['required'] : [],
    code: code.trim() === '' ? ['required'] : [],
  });
  const verdict = missing ? null : await verifyRegistration(req.ctx, registration_id, code);
  if (verdict?.outcome === 'right') {
    const { token: registration_token, registration } = verdict;
    if (wantsJson(req)) {
      res.set('Cache-Control', 'no-store').json({ registration_token, expires_in: completionTokenLifetime });
      return;
    }
    return renderComplete(web, req, res, { registration, registration_token, return_to });
  }
  const refusal = missing ?? emailCodeRefusal(verdict as Exclude<typeof verdict, null>);
  const registration = wantsJson(req) ? null : await findRegistration(req.ctx, registration_id);
  if (!registration || registration.consumed_at) throw refusalError(refusal);
  if (refusal.retry_after !== undefined) res.set('Retry-After', String(refusal.retry_after));
  renderEmailCode(web, req, res, { registration, return_to, code, refusal });
};
