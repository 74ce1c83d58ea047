import { own } from '../../lib/named.js';

/** The sentence that pages show for each error code: what is wrong and, where it isn't obvious, what to do. */
export const errorTexts = {
  required: 'Fill in this field.',
  too_long: 'This is too long.',
  invalid_email: 'Enter an email address in the form name@example.com.',
  invalid_value: 'This is not in a form we can use. Check it and try again.',
  invalid_url: 'Enter a web address that starts with https://.',
  invalid_date: 'Enter a date in the form 1990-12-31.',
  password_too_short: 'Choose a longer password.',
  password_too_long: 'Choose a password of at most 128 characters.',
  password_common: 'This password is on lists of commonly used ones. Choose another.',
  password_breached: 'This password is known from a data breach, so attackers try it first. Choose one that you use nowhere else.',
  password_contains_email: 'Choose a password that does not contain your email address.',
  password_contains_name: 'Choose a password that does not contain your name.',
  invalid_credentials: 'The email address or the password is not right. Try again, or reset your password.',
  invalid_password: 'This is not your current password.',
  account_blocked: 'This account has been blocked. Contact support if you think this is a mistake.',
  invalid_code: 'This code is not right. Check the latest mail from us and try again.',
  code_expired: 'This code is no longer valid. Ask for a new one.',
  email_taken: 'There is already an account with this email address. Sign in instead.',
  registration_disabled: 'New accounts cannot be created here at the moment.',
  domain_not_allowed: 'New accounts cannot be created with this email address. Use the one of your organisation.',
  rate_limited: 'Too many attempts. Wait a minute, then try again.',
  invalid_csrf_token: 'This form is out of date. Open the page again and repeat what you did.',
  login_required: 'Sign in to continue.',
  fresh_sign_in_required: 'You signed in more than ten minutes ago. Show that it is still you, then repeat what you did.',
  passkeys_disabled: 'Passkeys cannot be used here.',
  passkey_unknown: 'This passkey does not sign anybody in here any more. Use another one, or another way.',
  email_code_disabled: 'Codes by mail do not sign anybody in here.',
  second_factor_unavailable: 'This way cannot be used for your account. Choose another one.',
  confirmation_required: 'Show that it is still you, then repeat what you did.',
  challenge_expired: 'That took too long. Try again.',
  passkey_refused: 'This passkey could not be used. Try again, or use another one.',
  passkey_exists: 'This passkey is in use already.',
  too_many: 'You have as many of these as an account can have. Remove one that you no longer use first.',
  enrollment_disabled: 'This cannot be added here at the moment.',
  factor_missing: 'Add a passkey or an authenticator app first.',
  factor_required: 'Accounts here need a second step. Add another passkey or app before you take this away.',
  second_factor_locked: 'There were too many wrong codes. Wait a few minutes, then try again.',
  sign_in_expired: 'This sign-in took too long, or too many codes were wrong. Sign in again from the start.',
  consent_required: 'Your permission is needed to continue.',
  access_denied: 'Access was not allowed.',
  not_found: 'There is nothing at this address. Check it for typing mistakes.',
  sso_state_mismatch: 'This sign-in was started in another browser or too long ago. Start again from the sign-in page.',
  sso_access_denied: 'The sign-in was cancelled at the provider. Try again, or sign in another way.',
  sso_email_unverified: 'The provider has not confirmed your email address. Confirm it there, then try again.',
  sso_account_exists: 'There is already an account with this email address. Sign in to it first, then connect the provider.',
  sso_domain_not_allowed: 'Your email address is not one of those that may sign in here.',
  sso_provider_error: 'The provider did not answer as expected. Try again in a few minutes, or sign in another way.',
  temporarily_unavailable: 'We cannot do this right now. Try again in a minute.',
  server_error: 'Something went wrong on our side. Try again in a minute.',
} as const;

export type ErrorTextCode = keyof typeof errorTexts;

/** The sentence for a code; for one without a sentence, a general one, never the bare code. */
export function errorText(code: string): string {
  return own(errorTexts, code) ?? errorTexts.invalid_value;
}

/** JSON's `{field: [codes]}` as the pages' `{field: sentence}`; a too short password names the minimum. */
export function fieldErrorTexts(
  fields: Record<string, readonly string[]>,
  limits: { password_min_length?: number } = {},
): Record<string, string> {
  const sentence = (code: string) =>
    code === 'password_too_short' && limits.password_min_length
      ? `Choose a password of at least ${limits.password_min_length} characters.`
      : errorText(code);
  return Object.fromEntries(Object.entries(fields).map(([name, codes]) => [name, codes.map(sentence).join(' ')]));
}
