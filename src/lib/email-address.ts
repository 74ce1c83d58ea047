import { domainToASCII } from 'node:url';

/** `email` as stored and sent to; `email_key` its case-folded form, by which accounts are unique and found. */
export type EmailAddress = { readonly email: string; readonly email_key: string };

/** RFC 5321 section 4.5.3.1: octets of the local part, and of the whole path without its angle brackets. */
const maxLocalLength = 64;
const maxLength = 254;

const atext = "A-Za-z0-9!#$%&'*+/=?^_`{|}~";
const dotAtom = new RegExp(`^[${atext}][${atext}-]*(\\.[${atext}-]+)*$`);
const writtenDomain = /^[\p{L}\p{M}\p{N}.-]+$/u;
const asciiDomain = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/**
 * Reads one plain address (RFC 5321 section 4.1.2 without quoted local parts and address literals); null for everything that any
 * mail software could read as more than one recipient, as a header, or as an option. The local part is ASCII and keeps
 * its case; the domain is lower-cased, an internationalised one comes back in its ASCII form (RFC 5890). The key folds
 * case too; a `+tag` stays part of the identity.
 */
export function normalizeEmail(text: string): EmailAddress | null {
  if (control.test(text)) return null;
  const trimmed = text.trim();
  const halves = trimmed.split('@');
  if (halves.length !== 2 || trimmed.length > maxLength) return null;
  const [name = '', host = ''] = halves;
  if (name.length > maxLocalLength || !dotAtom.test(name) || !writtenDomain.test(host)) return null;
  const domain = domainToASCII(host);
  // URL parsers and resolvers take a name whose last label is numeric for an IPv4 address.
  if (!asciiDomain.test(domain) || /(^|\.)\d+$/.test(domain)) return null;
  const email = `${name}@${domain}`;
  return email.length > maxLength ? null : { email, email_key: email.toLowerCase() };
}
