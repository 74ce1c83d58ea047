import type { Request } from 'express';
import { isLanguage, lookUp, type Language } from '../../lib/languages/languages.js';
import { cookieName, readCookie } from '../request/cookies.js';
import { queryOf } from '../request/form.js';
import { pendingHere } from '../request/return-to.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** `ui_locales` of the authorization request that is being answered (OIDC Core 3.1.2.1); undefined elsewhere, or without one. */
    ui_locales?: string | undefined;
    /** The language of the page that answers, once that was asked. */
    language?: Language;
  }
}

/** The cookie with the language that the person chose on a page. */
export const languageCookie = 'language';

/** What the application asks for: of the pending request, or of the request to the endpoint itself (OIDC Core 3.1.2.1, RP-Initiated Logout 1.0 2). */
function uiLocales(req: Request): string | undefined {
  if (req.ui_locales !== undefined) return req.ui_locales;
  const sent = req.path.startsWith('/oauth/') ? queryOf(req).get('ui_locales') : undefined;
  return sent ?? pendingHere(req)?.parameters['ui_locales'];
}

/** The language that the person speaks by the account's own word, as far as it is known here who that is. */
const localeOfPerson = ({ session, claimant }: Partial<Request>): string | null => session?.user_locale ?? claimant?.user.locale ?? null;

/**
 * The language to answer the person in (specification 4.13.1): the one chosen on a page, else what the application asks for, else the person's own,
 * else the browser's, else the environment's. Asked for when the page is made: by then it is known who is there.
 */
export const languageOf = (req: Request): Language => (req.language ??= languageSoFar(req));

/** The same as far as it is known now, for a mail that leaves before the page is made. */
export function languageSoFar(req: Request): Language {
  if (req.language !== undefined) return req.language;
  if (!(req as Partial<Request>).ctx) return lookUp(req.acceptsLanguages()) ?? 'en';
  const chosen = readCookie(req, cookieName(req, languageCookie));
  if (isLanguage(chosen)) return chosen;
  return (
    lookUp((uiLocales(req) ?? '').split(' ')) ??
    lookUp([localeOfPerson(req) ?? '']) ??
    lookUp(req.acceptsLanguages()) ??
    lookUp([req.ctx.environment.default_locale]) ??
    'en'
  );
}
