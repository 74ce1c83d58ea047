import type { Theme } from '../environments/branding.js';
import { message } from '../../lib/languages/messages.js';
import { agentMails } from './agent-mails.js';
import { domainMails } from './domain-mails.js';
import { passwordMails, reset_url } from './password-mails.js';
import {
  address,
  codeVariable,
  durationVariable,
  flag,
  list,
  mailbox,
  optionalText,
  sentence,
  textVariable,
  type ValuesOf,
  type Variables,
} from './variables.js';

/** What every mail can name: whose it is, and where the request came from that made the service write. */
export const commonVariables = {
  environment_name: textVariable(
    'The name of the environment, of its branding, or of the application that the person is signing in to.',
    'Acme',
  ),
  support_email: mailbox('The support address.', 'help@acme.example'),
  time: textVariable('When it was requested or happened, in UTC and in the language of the template.', '2026-11-21T09:05:00.000Z'),
  device: optionalText('The browser and system of the request, in the language of the template.', 'Chrome on macOS'),
  ip_address: optionalText('The IP address of the request.', '203.0.113.5'),
  origin: textVariable(
    'Time, device and address in one line; in English as a part of a sentence: “on 21 November 2026 at 09:05 UTC, from Chrome on macOS at …”.',
    '',
  ),
  details: list('Time, device and address, as far as they are known: a line for each with its label, in the language of the template.', []),
} as const satisfies Variables;

type MailSpec = {
  readonly title: string;
  /** When it is sent, and to whom. */
  readonly sent: string;
  readonly variables: Variables;
  /** Without one of these the mail is of no use: a template names it outside of all sections. Empty: it tells, and leads nowhere. */
  readonly needed: readonly string[];
};

const codeOf = codeVariable('The code to type.', '104285');
const expires_in = durationVariable('How long the code is good: “10 minutes”.', 600);
const account_url = address('The person’s account page.', 'https://id.example/account', 'device_answer.next');
const login_url = address('Where the person signs in.', 'https://id.example/login', 'common.sign_in');
const provider = textVariable('The provider that signs the person in.', 'Google');
const happened = (what: string, sample = false) => flag(what, sample);

/**
 * Every mail that the service sends, with what a template of it can name. The types of what callers hand over, the checks of templates, the forms of
 * the dashboard and docs/reference/mail-templates.md follow from this list. Names are never changed.
 */
export const mails = {
  register_code: {
    title: 'Registration code',
    sent: 'When someone registers with an address that has no account yet.',
    variables: { code: codeOf, expires_in },
    needed: ['code'],
  },
  account_exists: {
    title: 'Account exists',
    sent: 'When someone registers with, or changes their own to, an address that already has an account. Replaces the code.',
    variables: { login_url, reset_url },
    needed: ['login_url', 'reset_url'],
  },
  password_reset_code: {
    title: 'Password reset',
    sent: 'When someone forgot their password, or an administrator asks them to set one.',
    variables: {
      code: codeOf,
      expires_in,
      reset_url: address(
        'The page to enter the code on; it brings the code along.',
        'https://id.example/password/reset?code=sample&reset_id=1',
        'reset.title',
      ),
      administrator: flag('An administrator asked for it, not the person.', false),
    },
    needed: ['code', 'reset_url'],
  },
  sign_in_code: {
    title: 'Sign-in code',
    sent: 'When someone signs in with a code by email, or uses one as their second step.',
    variables: { code: codeOf, expires_in, second: flag('Whether this is the second step: the right password was entered.', false) },
    needed: ['code'],
  },
  sign_in_elsewhere: {
    title: 'Sign in elsewhere',
    sent: 'When someone registers or resets the password of an address that only signs in through a connection. Replaces the code.',
    variables: {
      provider,
      login_url: address('Where the person signs in with the provider.', 'https://id.example/auth/sso/1', 'common.sign_in'),
    },
    needed: ['login_url'],
  },
  ...passwordMails,
  password_reset_done: {
    title: 'Password was reset',
    sent: 'When someone’s password was reset with a code from an email.',
    variables: {
      reset_url,
      account_url,
      accounts: list('The accounts at providers that still sign the person in.', ['Google (ada at gmail dot example)', 'GitHub']),
      has_accounts: flag('Whether there are any `accounts`.', true),
    },
    needed: ['reset_url'],
  },
  email_change_code: {
    title: 'Confirm a new address',
    sent: 'When somebody changes their address. Goes to the new address.',
    variables: { code: codeOf, expires_in },
    needed: ['code'],
  },
  email_changed: {
    title: 'Email address changed',
    sent: 'When someone’s address was changed. Goes to the old and the new address.',
    variables: {
      old: flag('Whether this is the email to the old address.', true),
      administrator: flag('Whether an administrator changed it, and not the person.', false),
    },
    needed: [],
  },
  account_deletion_requested: {
    title: 'Account deletion requested',
    sent: 'When somebody asked to delete their account.',
    variables: { return_within: durationVariable('How long signing in keeps the account: “30 days”.', 2_592_000), login_url },
    needed: ['login_url'],
  },
  account_deleted: { title: 'Account deleted', sent: 'When somebody’s account was deleted as they asked.', variables: {}, needed: [] },
  account_kept: {
    title: 'Account kept',
    sent: 'When someone signed in before their account was deleted, or an administrator canceled the deletion.',
    variables: { reset_url },
    needed: ['reset_url'],
  },
  address_proven: {
    title: 'Address confirmed',
    sent: 'When someone’s address was confirmed for the first time, and something set up before that was removed.',
    variables: {
      administrator: flag('An administrator marked the address as verified; the person did not prove it.', false),
      password_removed: happened('The password was removed.', true),
      authenticators_removed: happened('Passkeys, authenticator apps and recovery codes were removed.', true),
      sessions_ended: happened('Sessions were ended, or remembered browsers forgotten.', true),
      applications_ended: happened('Applications lost their access.'),
      accounts: list('The accounts at providers that sign the person in only when they are connected again.', [
        'Google (ada at gmail dot example)',
      ]),
      has_accounts: flag('Whether there are any `accounts`.', true),
      reset_url,
      account_url,
    },
    needed: ['account_url'],
  },
  account_linked: {
    title: 'Account connected',
    sent: 'When an account at a provider was connected and can now sign in.',
    variables: {
      provider,
      provider_email: optionalText('The address of the account at the provider.', 'ada at gmail dot example'),
      account_url,
    },
    needed: ['account_url'],
  },
  provider_access_lost: {
    title: 'Access at a provider lost',
    sent: 'When a provider no longer lets an application use the person’s account there.',
    variables: { provider, application: textVariable('The application.', 'Notes'), account_url },
    needed: ['account_url'],
  },
  new_sign_in: {
    title: 'New sign-in',
    sent: 'When someone signed in from a new browser, or allowed a device to sign in.',
    variables: { account_url, application: optionalText('The application that a device was let in with; absent for a browser.', null) },
    needed: ['account_url'],
  },
  ...agentMails,
  sign_in_methods: {
    title: 'Sign-in methods changed',
    sent: 'When someone’s passkeys, authenticator apps, recovery codes or second step changed.',
    variables: {
      headline: sentence('What happened where, in a few words in the language of the template.', message('mail.passkey_removed_headline')),
      happening: sentence(
        'What happened, as a sentence in the language of the template.',
        message('mail.passkey_removed', { factor_name: 'Laptop' }),
      ),
      advice: sentence('What to do, in the language of the template; a link to the account page follows.', message('mail.advice_removed')),
      account_url,
      factor_name: optionalText('What the person calls the passkey or authenticator app.', 'Laptop'),
      codes_left: optionalText('How many recovery codes are left; absent unless one was used.', null),
      passkey_added: happened('A passkey was added.'),
      passkey_removed: happened('A passkey was removed.', true),
      passkey_copied: happened('A passkey was refused, because a copy of it seems to exist.'),
      totp_added: happened('An authenticator app was added.'),
      totp_removed: happened('An authenticator app was removed.'),
      recovery_codes_made: happened('New recovery codes were made.'),
      recovery_codes_removed: happened('The recovery codes were removed.'),
      recovery_code_used: happened('A recovery code was used.'),
      two_step_on: happened('The account asks for a second step from now on.'),
      two_step_off: happened('The account asks for no second step any more.'),
      reset: happened('An administrator removed all of them, and ended all sessions.'),
      second_step_locked: happened('So many second steps were wrong that none is taken for a while.'),
    },
    needed: ['account_url'],
  },
  ...domainMails,
} as const satisfies Readonly<Record<string, MailSpec>>;

export type MailName = keyof typeof mails;
export const mailNames = Object.keys(mails) as [MailName, ...MailName[]];

export const mailSpec = (name: MailName): MailSpec => mails[name];

export const variablesOf = (name: MailName): Variables => ({ ...mailSpec(name).variables, ...commonVariables });

/** Where a request came from, for the person who gets mail because of it. */
export type MailRequest = {
  ip_address: string | null;
  /** Browser and system; null when unknown. */
  device: { readonly name: string; readonly system: string | null } | null;
  /** ISO 8601 */
  at: string;
};

export type MailBase = {
  environment: {
    name: string;
    /** On top of the HTML instead of the name; absent: the name. */
    heading?: string;
    support_email: string | null;
    /** Of links, buttons and what is around; absent or null for ours. */
    theme?: Partial<Theme> | null | undefined;
    /** On top of the HTML, beside the name; absent or null for none. */
    logo_url?: string | null | undefined;
    dark_logo_url?: string | null | undefined;
  };
  request: MailRequest;
};

export type MailModels = { [Name in MailName]: MailBase & ValuesOf<(typeof mails)[Name]['variables']> };

/** A template as it is written: `html` null for what follows from the text. */
export type MailText = { readonly subject: string; readonly text: string; readonly html: string | null };
