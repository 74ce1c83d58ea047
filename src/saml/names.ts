import type { AuthenticationClass } from '../domain/proofs/classes.js';
import { named } from '../lib/named.js';

export const bindings = {
  redirect: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  post: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
} as const;

const contextClass = (name: string) => `urn:oasis:names:tc:SAML:2.0:ac:classes:${name}`;
export const passwordContext = contextClass('PasswordProtectedTransport');
export const unspecifiedContext = contextClass('unspecified');
export const secondFactorContext = 'https://refeds.org/profile/mfa';

/** The classes of sign-in that a request can demand (SAML Core 3.3.2.2.1), as ours. Every sign-in is as good as a password's. */
export const contextClasses: Readonly<Record<string, AuthenticationClass>> = named({
  [contextClass('Password')]: '1',
  [passwordContext]: '1',
  [unspecifiedContext]: '1',
  [secondFactorContext]: '2',
});
