/** An address as it was given, and the key under which it is unique and signs in. */
export type EmailAddress = { readonly email: string; readonly email_key: string };

const local = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~][A-Za-z0-9!#$%&'*+/=?^_`{|}~-]*(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const domain = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;

/**
 * Reads one plain address (RFC 5321 4.1.2 without quoted local parts and address literals); null for everything that a mail
 * server could read as more than one recipient, or as an option. Internationalised domains come in their ASCII form.
 */
export function normalizeEmail(text: string): EmailAddress | null {
  const email = text.trim();
  if (email.length > 254 || email.split('@').length !== 2) return null;
  const [name = '', host = ''] = email.split('@');
  if (name.length > 64 || !local.test(name) || !domain.test(host)) return null;
  return { email, email_key: email.toLowerCase() };
}
