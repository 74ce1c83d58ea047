import type { NextFunction, Request, Response } from 'express';
import { startEmailSignIn } from '../../domain/sign-ins/email-codes.js';
import { findPasscode } from '../../db/tables/passcodes.js';
import { PageError } from '../../errors.js';
import { browserSecret } from '../../http/auth/browser-secret.js';
import { csrfToken } from '../../http/auth/csrf.js';
import { isTaken, takeStep } from '../../http/auth/sign-in.js';
import { errorMessage } from '../../http/pages/error-texts.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { basePage, type FormPage, type PageClient } from '../../http/pages/pages.js';
import { queryOf, wantsJson } from '../../http/request/form.js';
import { safeReturnTo, withReturnTo } from '../../http/request/return-to.js';
import type { Web } from '../../http/web.js';
import { normalizeEmail } from '../../lib/email-address.js';
import { isUuid } from '../../lib/random.js';
import { bodyReturnTo, bodyText } from '../fields.js';
import { pendingClient, pendingFormAction } from './login.js';
import { emailCodeRefusal, pageErrors, refusalError, refuseFields, type StepRefusal } from '../refusal.js';
import { answerStep } from './answer.js';
import { pageClient } from '../../http/pages/shown-client.js';
import { wordsOf, type Words } from '../../http/pages/words.js';

/** Asks for the address. Posts `email`, `return_to` to /login/code. `values`: email. */
export interface LoginCodePage extends FormPage {
  client: PageClient | null;
  return_to: string;
}

/** Posts `sign_in_id`, `code`, `return_to` to /login/code/verify; another code: `email`, `return_to` to /login/code. */
export interface LoginCodeVerifyPage extends FormPage {
  client: PageClient | null;
  sign_in_id: string;
  email: string;
  /** ISO 8601 */
  expires_at: string;
  return_to: string;
}

declare module '../../http/pages/page-models.js' {
  interface PageModels {
    'account/login-code': LoginCodePage;
    'account/login-code-verify': LoginCodeVerifyPage;
  }
}

/** Middleware: 403 where codes by mail sign nobody in. */
export function emailCodesOpen(req: Request, _res: Response, next: NextFunction): void {
  const open = req.ctx.environment.email_code_sign_in_enabled;
  next(open ? undefined : new PageError(403, 'email_code_disabled', errorMessage('email_code_disabled')));
}

type State = { return_to: string | null; email: string; refusal?: StepRefusal };

async function frame(req: Request, res: Response, return_to: string | null, title: (client: string | null, words: Words) => string) {
  const words = wordsOf(req);
  const client = pageClient(words, await pendingClient(req, return_to));
  const page = { title: title(client?.name ?? null, words), request_id: req.request_id, csrf_token: csrfToken(req, res) };
  return { ...basePage(req.ctx.environment, page), client, return_to: return_to ?? '' };
}

async function renderAddress(web: Web, req: Request, res: Response, { return_to, email, refusal }: State): Promise<void> {
  const page = await frame(req, res, return_to, (client, { t }) =>
    client === null ? t('login_code.title') : t('login_code.title_for', { client }),
  );
  const errors = refusal && pageErrors(req, refusal);
  const options = { status: refusal?.status ?? 200, formAction: pendingFormAction(req, return_to) };
  web.renderPage(res, 'account/login-code', { ...page, values: { email }, errors }, options);
}

/** GET /login/code: where a code is asked for. */
export const codePage = (web: Web) => async (req: Request, res: Response) => {
  const query = queryOf(req);
  const email = query.get('login_hint')?.slice(0, 254) ?? '';
  await renderAddress(web, req, res, { return_to: safeReturnTo(query.get('return_to')), email });
};

/** POST /login/code: a code is on its way, whether or not anybody has the address; it is good in this browser alone. */
export const startCode = (web: Web) => async (req: Request, res: Response) => {
  const return_to = bodyReturnTo(req);
  const typed = bodyText(req, 'email');
  const address = normalizeEmail(typed);
  if (!address) {
    const refusal: StepRefusal = {
      status: 422,
      code: 'invalid_email',
      fields: { email: [typed.trim() === '' ? 'required' : 'invalid_email'] },
    };
    if (wantsJson(req)) throw refusalError(refusal);
    return renderAddress(web, req, res, { return_to, email: typed.slice(0, 254), refusal });
  }
  const started = await startEmailSignIn(req.ctx, address, browserSecret(req, res), originOf(req));
  if (!wantsJson(req)) return res.redirect(303, withReturnTo('/login/code/verify', { sign_in_id: started.sign_in_id }, return_to));
  res.status(202).set('Cache-Control', 'no-store').json(started);
};

type WaitingCode = { readonly id: string; readonly email: string; readonly expires_at: Date };

/** The code that is under way; null for one that is spent, over, or unknown. */
async function waitingCode(req: Request, id: string): Promise<WaitingCode | null> {
  const passcode = isUuid(id) ? await findPasscode(req.ctx.scope, 'sign_in', id) : null;
  return passcode && passcode.consumed_at === null ? passcode : null;
}

async function renderCode(
  web: Web,
  req: Request,
  res: Response,
  { waiting, return_to, code, refusal }: { waiting: WaitingCode; return_to: string | null; code?: string; refusal?: StepRefusal },
): Promise<void> {
  const page = await frame(req, res, return_to, (client, { t }) => (client === null ? t('code.title') : t('code.title_for', { client })));
  const { id: sign_in_id, email, expires_at } = waiting;
  const model = { ...page, sign_in_id, email, expires_at: expires_at.toISOString(), values: { code } };
  const options = { status: refusal?.status ?? 200, formAction: pendingFormAction(req, return_to) };
  web.renderPage(res, 'account/login-code-verify', { ...model, errors: refusal && pageErrors(req, refusal) }, options);
}

/** GET /login/code/verify: where the code is entered; from the start without one under way. */
export const codeVerifyPage = (web: Web) => async (req: Request, res: Response) => {
  const query = queryOf(req);
  const return_to = safeReturnTo(query.get('return_to'));
  const waiting = await waitingCode(req, query.get('sign_in_id') ?? '');
  if (!waiting) return res.redirect(303, withReturnTo('/login/code', {}, return_to));
  await renderCode(web, req, res, { waiting, return_to });
};

/** POST /login/code/verify: the right code, in the browser that asked for it, is the first step. */
export const proveCode = (web: Web) => async (req: Request, res: Response) => {
  const return_to = bodyReturnTo(req);
  const [sign_in_id, code] = [bodyText(req, 'sign_in_id'), bodyText(req, 'code').trim().slice(0, 64)];
  const missing = refuseFields({ sign_in_id: sign_in_id === '' ? ['required'] : [], code: code === '' ? ['required'] : [] });
  const reached = missing ? null : await takeStep(req, res, { method: 'email', sign_in_id, code }, { return_to });
  if (reached && isTaken(reached)) return answerStep(req, res, reached, return_to);
  const refusal = missing ?? (reached?.outcome === 'blocked' ? blocked : emailCodeRefusal(reached ?? { outcome: 'expired' }));
  const waiting = wantsJson(req) || refusal.status === 410 ? null : await waitingCode(req, sign_in_id);
  if (refusal.retry_after !== undefined) res.set('Retry-After', String(refusal.retry_after));
  if (!wantsJson(req) && refusal.status === 410) {
    const next = { href: withReturnTo('/login/code', {}, return_to), label: 'code.ask_for_new' } as const;
    throw new PageError(410, 'code_expired', errorMessage('code_expired'), {}, undefined, next);
  }
  if (!waiting || refusal === blocked) throw refusalError(refusal);
  await renderCode(web, req, res, { waiting, return_to, code, refusal });
};

const blocked: StepRefusal = { status: 403, code: 'account_blocked' };
