import type { FormPage, PageClient, PageConnection } from './form-page.js';

// The pages on the way into an account: sign-in, registration, recovery.

/**
 * What the script public/passkeys.js needs for a ceremony; the form that it is on stays hidden where passkeys can't be used. `options_path` gives new
 * options, since a challenge runs out; `options` (WebAuthn L3 5.4, 5.5) as JSON, null: asked for once they are needed. `elsewhere`: the same page on
 * the host of the RP id, for browsers that don't know related origins (WebAuthn L3 5.11); null when it is this one. `only_there`: passkeys are not
 * accepted at this host, in any browser.
 */
export type PagePasskey = {
  readonly rp_id: string;
  readonly options_path: string;
  readonly options: string | null;
  readonly elsewhere: string | null;
  readonly only_there?: boolean | undefined;
};

/**
 * `values`: email. Posts `email`, `password`, `return_to` to /login; `credential`, `return_to` to /login/passkey; `email`, `return_to` to /login/code.
 * Title: "Sign in" or "Sign in to Acme Notes".
 */
export interface LoginPage extends FormPage {
  client: PageClient | null;
  /** Same-origin path, empty for none; travels on in the form and in the links. */
  return_to: string;
  connections: PageConnection[];
  /** Whether addresses of some domains need no password here (home-realm discovery). */
  company_login?: boolean | undefined;
  registration_enabled: boolean;
  /** Whether a code by mail signs in. */
  email_code?: boolean | undefined;
  /** Null or absent: no passkey signs in. */
  passkey?: PagePasskey | null | undefined;
  /** The id of a credential that was just presented and that nobody has, for `signalUnknownCredential` (WebAuthn L3 5.1.10.1). */
  unknown_passkey?: string | null | undefined;
}

/** `values`: email. Posts `email`, `return_to` to /register. */
export interface RegisterPage extends FormPage {
  client: PageClient | null;
  return_to: string;
  connections: PageConnection[];
}

/** Posts `registration_id`, `code`, `return_to` to /register/verify; the resend form posts `registration_id`, `return_to` to /register/resend. */
export interface RegisterVerifyPage extends FormPage {
  registration_id: string;
  email: string;
  /** ISO 8601 */
  expires_at: string;
  return_to: string;
}

/**
 * `values`: first_name, last_name. Posts `registration_token`, `first_name`, `last_name`, `return_to` and `password`, or `credential`, to
 * /register/complete.
 */
export interface RegisterCompletePage extends FormPage {
  /** Null or absent: no passkey can be made. */
  passkey?: PagePasskey | null | undefined;
  registration_token: string;
  email: string;
  password_min_length: number;
  return_to: string;
}

/** `values`: email. Posts `email`, `return_to` to /password/forgot. `client`: the application that waits for the sign-in. */
export interface PasswordForgotPage extends FormPage {
  client: PageClient | null;
  return_to: string;
}

/** `values`: code (from the link in the mail). Posts `reset_id`, `code`, `password`, `return_to` to /password/reset. */
export interface PasswordResetPage extends FormPage {
  reset_id: string;
  password_min_length: number;
  return_to: string;
}
