/** Whether the text is a web address (http or https) that can be linked: no other scheme, no user name in it. */
export function isWebAddress(text: string): boolean {
  if (text.length > 2048 || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { username, password, hostname } = new URL(text);
  return username === '' && password === '' && hostname !== '';
}

/** `YYYY-MM-DD`, `0000-MM-DD` (no year) or `YYYY` (OIDC Core 5.1, `birthdate`), of a day that exists. */
export function isBirthdate(text: string): boolean {
  if (/^[12]\d{3}$/.test(text)) return true;
  const found = /^(0000|[12]\d{3})-(\d{2})-(\d{2})$/.exec(text);
  if (!found) return false;
  // A leap year stands in for the year that isn't given.
  const day = new Date(`${found[1] === '0000' ? '2000' : found[1]}-${found[2]}-${found[3]}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.getUTCDate() === Number(found[3]);
}

/** A name of the IANA time zone database (OIDC Core 5.1, `zoneinfo`). */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** A language tag (BCP 47; OIDC Core 5.1, `locale`), also with the underscore that some write. */
export function isLocale(text: string): boolean {
  try {
    return text.length <= 64 && Intl.getCanonicalLocales(text.replaceAll('_', '-')).length === 1;
  } catch {
    return false;
  }
}

/** A phone number in E.164 form, without the spaces and dashes people write (OIDC Core 5.1, `phone_number`); null when it is none. */
export function normalizePhoneNumber(text: string): string | null {
  const digits = text.replace(/^00/, '+').replace(/[\s().-]/g, '');
  return /^\+[1-9]\d{4,14}$/.test(digits) ? digits : null;
}
