import { PageError, type OnwardLink } from '../errors.js';
import { errorMessage, type ErrorTextCode } from '../http/pages/error-texts.js';
import type { Message } from '../lib/languages/messages.js';

/** The stable codes of this surface with their usual statuses (specification 8.2.3). */
export const ssoCodes = {
  sso_state_mismatch: 400,
  sso_access_denied: 403,
  sso_email_missing: 403,
  sso_email_unverified: 403,
  sso_account_exists: 409,
  sso_domain_not_allowed: 403,
  sso_provider_error: 502,
  saml_invalid: 400,
  saml_expired: 400,
  saml_replayed: 400,
  saml_unsolicited: 400,
  saml_wrong_audience: 400,
  saml_no_identity: 403,
  registration_disabled: 403,
  account_blocked: 403,
  password_reset_required: 403,
  not_found: 404,
} as const satisfies Partial<Record<ErrorTextCode, number>>;

export type SsoCode = keyof typeof ssoCodes;

/** The error of a code, with its usual status and text; `cause` is for the log and the connection test, and holds no secret. */
export const ssoRefusal = (code: SsoCode, given: { status?: number; text?: Message; cause?: Error; next?: OnwardLink } = {}): PageError =>
  new PageError(given.status ?? ssoCodes[code], code, given.text ?? errorMessage(code), {}, given.cause, given.next ?? null);

/** The same error with a link for the person. */
export const withNext = (refusal: PageError, next: OnwardLink): PageError =>
  new PageError(refusal.status, refusal.code, refusal.localized ?? refusal.text, refusal.extra, refusal.cause, next);

/** A link back to the sign-in page that keeps the return path. */
export function backToSignIn(return_to: string | null): OnwardLink {
  return { href: return_to === null ? '/login' : `/login?return_to=${encodeURIComponent(return_to)}`, label: 'common.back_to_sign_in' };
}
