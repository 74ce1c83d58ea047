import type { Request, Response } from 'express';
import { requiredConnectionFor } from '../domain/connections/connections.js';
import { changeAddress, findAddressChange, startAddressChange } from '../domain/credentials/address-change.js';
import type { PasscodeRow } from '../db/tables/passcodes.js';
import { sessionOf } from '../http/auth/browser-session.js';
import { formPage } from '../http/auth/csrf.js';
import { originOf } from '../http/pages/mail-origin.js';
import { wordsOf } from '../http/pages/words.js';
import { wantsJson } from '../http/request/form.js';
import type { Web } from '../http/web.js';
import { message } from '../lib/languages/messages.js';
import { done } from './done.js';
import { renderAccount } from './account-page.js';
import { bodyText } from './fields.js';
import { emailCodeRefusal, pageErrors, refusalError, refuseFields, type StepRefusal } from './refusal.js';
import { readAddress } from './register.js';
import { userDocument } from './user-document.js';

const verifyPath = '/account/email/verify';

/** Why the signed-in person can't have the address: theirs, or the new one, is in the hands of one connection. */
async function refuseManaged(req: Request, email: string): Promise<StepRefusal | null> {
  const own = await requiredConnectionFor(req.ctx, sessionOf(req).user_email);
  if (own) return { status: 403, code: 'domain_not_allowed', text: message('email_change.managed', { provider: own.display_name }) };
  const other = await requiredConnectionFor(req.ctx, email);
  return other && { status: 422, code: 'domain_not_allowed', fields: { email: ['domain_not_allowed'] } };
}

/** POST /account/email (specification 4.5.8): a code is on its way to the new address, whether or not it has an account already. */
export const askForAddress = (web: Web) => async (req: Request, res: Response) => {
  const address = readAddress(req);
  const refusal = 'status' in address ? address : await refuseManaged(req, address.email);
  if (refusal !== null || 'status' in address) {
    if (wantsJson(req)) throw refusalError(refusal as StepRefusal);
    return renderAccount(web, req, res, { refusal: refusal as StepRefusal, typed: { email: bodyText(req, 'email').slice(0, 254) } });
  }
  const change = await startAddressChange(req.ctx, sessionOf(req), address, originOf(req));
  if (!wantsJson(req)) return res.redirect(303, verifyPath);
  const expires_in = Math.round((change.expires_at.getTime() - req.ctx.clock.now().getTime()) / 1000);
  res.status(202).set('Cache-Control', 'no-store').json({ expires_in });
};

function renderCode(web: Web, req: Request, res: Response, change: PasscodeRow, refusal?: StepRefusal, code?: string): void {
  web.renderPage(
    res,
    'account/email-verify',
    {
      ...formPage(req, res, wordsOf(req).t('code.title')),
      email: change.email,
      expires_at: change.expires_at.toISOString(),
      values: { code },
      errors: refusal && pageErrors(req, refusal),
    },
    { status: refusal?.status ?? 200 },
  );
}

/** GET /account/email/verify: for a change that waits for its code; else back to the account. */
export const addressCodePage = (web: Web) => async (req: Request, res: Response) => {
  const change = await findAddressChange(req.ctx, sessionOf(req));
  if (!change) return res.redirect(303, '/account');
  renderCode(web, req, res, change);
};

/** POST /account/email/verify: the code from the new address makes it the person's own. */
export const proveNewAddress = (web: Web) => async (req: Request, res: Response) => {
  const code = bodyText(req, 'code').slice(0, 64);
  const missing = refuseFields({ code: code.trim() === '' ? ['required'] : [] });
  const verdict = missing ? null : await changeAddress(req.ctx, sessionOf(req), code, originOf(req));
  if (verdict?.outcome === 'changed') return done(req, res, 'email', { user: userDocument(verdict.user) });
  const refusal =
    verdict === null
      ? (missing as StepRefusal)
      : verdict.outcome === 'email_taken'
        ? { status: 409, code: 'email_taken' }
        : emailCodeRefusal(verdict);
  if (refusal.retry_after !== undefined) res.set('Retry-After', String(refusal.retry_after));
  const change = wantsJson(req) ? null : await findAddressChange(req.ctx, sessionOf(req));
  if (!change) throw refusalError(refusal);
  renderCode(web, req, res, change, refusal, code);
};
