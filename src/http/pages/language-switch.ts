import type { Request, Response } from 'express';
import { isLanguage, languages } from '../../lib/languages/languages.js';
import { own } from '../../lib/named.js';
import { setCookie } from '../request/cookies.js';
import { queryOf } from '../request/form.js';
import { safeReturnTo, withReturnTo } from '../request/return-to.js';
import { languageCookie } from './language.js';

/** A choice is kept for so long, in seconds. */
const lifetime = 365 * 86_400;

/** Pages that are made once, from something that is spent with it: they can't be had again in another language. */
const madeOnce: ReadonlySet<string> = new Set([
  'account/link-account',
  'account/recovery-codes',
  'oauth/form-post',
  'oauth/logged-out',
  'sso/leaving',
  'sso/setup-test',
  'error',
]);

/** Where the answer to a form can be had by GET: the path, and the fields of the form that say which page it is. */
const again: Readonly<Record<string, { readonly path: string; readonly fields: readonly string[] }>> = {
  '/login': { path: '/login', fields: [] },
  '/login/passkey': { path: '/login', fields: [] },
  '/login/code': { path: '/login/code', fields: [] },
  '/login/code/verify': { path: '/login/code/verify', fields: ['sign_in_id'] },
  '/login/verify': { path: '/login/verify', fields: ['method', 'acr_values'] },
  '/login/enroll/passkey': { path: '/login/enroll', fields: ['acr_values'] },
  '/register': { path: '/register', fields: [] },
  '/register/verify': { path: '/register/verify', fields: ['registration_id'] },
  '/register/resend': { path: '/register/verify', fields: ['registration_id'] },
  '/password/forgot': { path: '/password/forgot', fields: [] },
  '/password/reset': { path: '/password/reset', fields: ['reset_id'] },
  '/account/confirm': { path: '/account/confirm', fields: ['acr_values'] },
  '/device': { path: '/device', fields: ['user_code'] },
};

/** Views that answer a form and hold what isn't in their address: a token, a secret, another form. They send that form for themselves in another language. */
const holds: ReadonlySet<string> = new Set([
  'account/register-complete',
  'account/totp',
  'account/confirm',
  'account/account',
  'oauth/consent',
]);

/** The address at which this page can be had by GET; null for one that can't. */
function addressOf(req: Request, view: string): string | null {
  if (madeOnce.has(view) || !(req as Partial<Request>).ctx) return null;
  if (req.method === 'GET' || req.method === 'HEAD') return safeReturnTo(req.originalUrl);
  const form = own(again, req.path);
  if (!form || (holds.has(view) && view !== 'account/confirm') || req.form === undefined) return null;
  const fields = form.fields.flatMap((name) => (req.form.get(name) === undefined ? [] : [[name, req.form.get(name) as string] as const]));
  return withReturnTo(form.path, Object.fromEntries(fields), safeReturnTo(req.form.get('return_to')));
}

/** What `views/partials/language-switch.ejs` needs: the languages, and where a page in another one is to be had; null: this one alone there is. */
export function switchOf(req: Request, view: string): { readonly languages: typeof languages; readonly switch_path: string | null } {
  return { languages, switch_path: addressOf(req, view) };
}

/** Pages whose form can be sent here, where the address that was typed goes along. */
const keeping: ReadonlySet<string> = new Set(['/login', '/login/code', '/register', '/password/forgot']);

/** Where the form that was sent is to be had again, with the address that was typed as `login_hint`. */
function pageOfForm({ form }: Request, page: string): string | null {
  if (!keeping.has(page)) return null;
  const typed = form.get('email')?.trim().slice(0, 254) ?? '';
  return withReturnTo(page, { ...(typed !== '' && { login_hint: typed }) }, safeReturnTo(form.get('return_to')));
}

/** The field that a form is sent with to have its page in another language, and nothing else: the tag. */
export const languageField = '_language';

/**
 * Whether the form was sent for its page in another language alone: the choice is kept, and the handler makes the page again with what was typed, and
 * does nothing else (specification 4.13.3). Needs `csrf` before.
 */
export function isLanguageSwitch(req: Request, res: Response): boolean {
  const tag = req.form.get(languageField);
  if (!isLanguage(tag)) return tag !== undefined;
  setCookie(req, res, languageCookie, tag, lifetime);
  req.language = tag;
  return true;
}

/**
 * GET and POST /language (specification 4.13.3): keeps the choice in a cookie and goes back to the page. Of a form that is sent here only that address
 * and where the sign-in goes on are looked at; a password in it is not. A link from another site leads to the page and chooses nothing.
 */
export function chooseLanguage(req: Request, res: Response): void {
  const query = queryOf(req);
  const isForm = req.method === 'POST';
  const tag = (isForm ? req.form : query).get('language');
  if (isLanguage(tag) && req.headers['sec-fetch-site'] !== 'cross-site') setCookie(req, res, languageCookie, tag, lifetime);
  const page = isForm ? pageOfForm(req, query.get('page') ?? '') : safeReturnTo(query.get('return_to'));
  res.setHeader('Cache-Control', 'no-store');
  res.redirect(303, page ?? '/login');
}
