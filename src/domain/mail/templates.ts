import { isIP } from 'node:net';
import { parseHex, readable } from '../../lib/contrast.js';
import { dateTimeWords } from '../../lib/date-words.js';
import { plainWords } from '../../lib/plain-words.js';
import { createTemplates } from '../../lib/templates.js';

/** Where a request came from, for the person who gets mail because of it. */
export type MailRequest = {
  ip_address: string | null;
  /** Browser and system in words, "Chrome on macOS"; null when unknown. */
  device: string | null;
  /** ISO 8601 */
  at: string;
};

type MailBase = {
  environment: {
    name: string;
    support_email: string | null;
    /** `branding.primary_color`, of which the links are; absent or null for ours. */
    primary_color?: string | null | undefined;
  };
  request: MailRequest;
};

/** The mails and what each needs; `expires_in` in seconds. */
export type MailModels = {
  /** Registration: the code for an address without an account. */
  'register-code': MailBase & { code: string; expires_in: number };
  /** Registration of an address that has an account, instead of the code. */
  'account-exists': MailBase & { login_url: string; reset_url: string };
  /** Recovery. `administrator`: sent by one (`users/{id}/send_password_reset`), not asked for by the person. */
  'password-reset-code': MailBase & { code: string; expires_in: number; reset_url: string; administrator?: boolean | undefined };
  /** Registration or recovery of an address that signs in through one connection alone, instead of the code. */
  'sign-in-elsewhere': MailBase & { provider: string; login_url: string };
  /** After POST /account/password. */
  'password-changed': MailBase & { reset_url: string };
  /** After POST /password/reset. `accounts`: those at providers that still sign the person in, in words. */
  'password-reset-done': MailBase & { reset_url: string; account_url: string; accounts: readonly string[] };
  /** A provider's account now signs this user in. */
  'account-linked': MailBase & { provider: string; provider_email: string | null; account_url: string };
  /** To everybody who may do everything: mails and sign-ins lead to another address from now on. `by`: who saw to it. */
  'primary-domain': MailBase & { address: string; by: string; domains_url: string };
  /** A sign-in from a device that wasn't seen before. `application`: it has no browser, and was allowed to act for the person by this one. */
  'new-sign-in': MailBase & { account_url: string; application?: string | undefined };
  /** The code of a sign-in without a password; `second`: beside another factor. */
  'sign-in-code': MailBase & { code: string; expires_in: number; second: boolean };
  /** What happened to the ways in which somebody signs in: `headline` for the subject, `happening` and `advice` as sentences. */
  'sign-in-methods': MailBase & { headline: string; happening: string; advice: string; account_url: string };
  /** To administrators: the DNS record of a verified domain is missing; `failed`: for `days`, so that it is the environment's no more. */
  'domain-record-missing': MailBase & { domain_url: string; failed: boolean; days: number };
};

export type RenderedMail = { subject: string; text: string; html: string };

const subjects: { [Name in keyof MailModels]: (model: MailModels[Name]) => string } = {
  // Never the code: subjects are shown on locked screens and kept by relays and their logs.
  'register-code': ({ environment }) => `Your code for ${environment.name}`,
  'account-exists': ({ environment }) => `You already have an account at ${environment.name}`,
  'password-reset-code': ({ environment }) => `Reset your password at ${environment.name}`,
  'sign-in-elsewhere': ({ provider, environment }) => `Sign in with ${provider} at ${environment.name}`,
  'password-changed': ({ environment }) => `Your password at ${environment.name} was changed`,
  'password-reset-done': ({ environment }) => `Your password at ${environment.name} was reset`,
  'account-linked': ({ provider, environment }) => `${provider} now signs you in at ${environment.name}`,
  'primary-domain': ({ environment }) => `The address of ${environment.name} was changed`,
  'new-sign-in': ({ environment }) => `New sign-in at ${environment.name}`,
  'sign-in-code': ({ environment }) => `Your code to sign in to ${environment.name}`,
  'sign-in-methods': ({ headline, environment }) => `${headline} at ${environment.name}`,
  'domain-record-missing': ({ failed, environment }) =>
    failed
      ? `A custom domain of ${environment.name} has been taken out of use`
      : `The DNS record of a custom domain of ${environment.name} is missing`,
};

const templates = createTemplates();

/** Members that are written unchanged: our own links, and the support address. */
const verbatim = (name: string) => name.endsWith('_url') || name === 'support_email';

/** All other texts may come from users and are made free of links (`plainWords`). */
function wordsOf<T>(value: T, name = ''): T {
  if (typeof value === 'string') return (verbatim(name) ? value : plainWords(value)) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one: unknown) => wordsOf(one, name)) as T;
  return Object.fromEntries(Object.entries(value).map(([member, one]) => [member, wordsOf(one, member)])) as T;
}

/** The request as it is told: its address is shown only if it is one, since a proxy in front may pass anything on. */
const requestOf = ({ request }: { request: MailRequest }): MailRequest => ({
  ip_address: request.ip_address !== null && isIP(request.ip_address) !== 0 ? request.ip_address : null,
  device: request.device === null ? null : plainWords(request.device),
  at: request.at,
});

/**
 * A mail as subject (one line, whatever the names hold), text and HTML; both bodies have the same words. The only links are those of the
 * model's `..._url` members.
 */
export function renderMail<Name extends keyof MailModels>(name: Name, given: MailModels[Name]): RenderedMail {
  const model: MailModels[Name] = { ...wordsOf(given), request: requestOf(given) };
  const subject = oneLine(subjects[name](model));
  const page = {
    ...model,
    subject,
    accent: accentOf(model.environment.primary_color),
    origin: originWords(model.request),
    lifetime: 'expires_in' in model ? durationWords(model.expires_in) : '',
  };
  return { subject, text: templates.render(`mail/${name}.txt`, page), html: templates.render(`mail/${name}.html`, page) };
}

/** The colour of links on the light and on the dark background of views/mail/partials/top.html.ejs, readable on both. */
function accentOf(primary_color: string | null | undefined): { light: string; dark: string } {
  const chosen = parseHex(primary_color ?? '');
  if (chosen === null) return { light: '#2b5fc7', dark: '#8fb8ff' };
  return { light: `#${readable(chosen, ['ffffff'], 4.5, 'black')}`, dark: `#${readable(chosen, ['1b1d22'], 4.5, 'white')}` };
}

/** `on 21 November 2026 at 09:05 UTC, from Chrome on macOS at the address 203.0.113.5` */
function originWords({ ip_address, device, at }: MailRequest): string {
  const address = ip_address ? `the address ${ip_address}` : '';
  const words = device && address ? `from ${device} at ${address}` : device || address ? `from ${device ?? address}` : '';
  return `on ${dateTimeWords(at)}${words ? `, ${words}` : ''}`;
}

function durationWords(seconds: number): string {
  const [count, unit] =
    seconds >= 7200 ? [Math.floor(seconds / 3600), 'hour'] : seconds >= 60 ? [Math.floor(seconds / 60), 'minute'] : [seconds, 'second'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  return text.replaceAll(/[\u0000-\u001f\u007f\u2028\u2029\s]+/g, ' ').trim();
}
