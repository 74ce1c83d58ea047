import {
  allSigningAlgorithmChoices,
  breachedPasswordChoices,
  breachedSignInChoices,
  dpopNonceChoices,
  environmentKindChoices,
  languageChoices,
} from '../../parts/forms/choices.js';
import { formSection, subjectOf, type FormSubject } from '../../parts/records/presentation.js';
import { terms } from '../../parts/words.js';
import { selfRegistrationSections } from '../clients/self-registration-sections.js';
import { brandingSections } from '../branding/branding-fields.js';
import { passwordMigrationSection, secondFactorSection, signInMethodsSection } from './strong-sign-in-sections.js';

/** The settings of an environment by subject: a page each, saved by itself. */
export const settingsSubjects: readonly [FormSubject, ...FormSubject[]] = [
  {
    name: 'general',
    title: 'General',
    text: 'What this environment is called, and what it is for.',
    fields: [
      { name: 'name', label: terms.name, attributes: { maxlength: 100 } },
      {
        name: 'kind',
        label: terms.environment_type,
        choices: environmentKindChoices,
        hint: 'In development, captured mail is shown at /dev/mailbox on this machine if there is no mail server and BASE_URL is local.',
      },
      {
        name: 'support_email',
        label: 'Support address',
        kind: 'email',
        hint: 'Shown below the sign-in pages and in emails.',
        attributes: { maxlength: 254 },
      },
      {
        name: 'default_locale',
        label: 'Default language',
        choices: languageChoices,
        hint: 'For sign-in pages, if neither the person, the application nor the browser specifies one.',
      },
    ],
  },
  subjectOf(
    { name: 'branding', title: terms.branding, text: 'How the sign-in pages and emails look.' },
    brandingSections('Instead of the environment’s name.', 'environments', [
      { name: 'branding.policy_uri', label: 'Privacy policy', kind: 'url', hint: 'Linked below the sign-in pages.' },
      { name: 'branding.tos_uri', label: 'Terms of service', kind: 'url', hint: 'Linked below the sign-in pages.' },
    ]),
  ),
  subjectOf({ name: 'sign_in', title: 'Sign-in', text: 'Who can create an account, and what people sign in with.' }, [
    formSection({ title: 'Registration' }, [
      { name: 'registration_enabled', label: terms.self_service_registration, hint: 'People can create an account by themselves.' },
      {
        name: 'allowed_email_domains',
        label: 'Allowed email domains',
        hint: 'Who can register: one domain per line. Leave empty for all.',
      },
      {
        name: 'preferred_username_from_email',
        label: 'Use the email address as preferred_username',
        hint: 'For people without a preferred username. Some applications need this claim; it comes with the profile scope, even without email.',
      },
    ]),
    signInMethodsSection,
    formSection(
      { title: 'Account deletion', text: 'People can delete their own accounts. Signing in during the return period keeps the account.' },
      [{ name: 'account_deletion_delay', label: 'Return period', hint: 'Leave empty so that people can’t delete their accounts.' }],
    ),
    formSection({ title: 'One-time codes', text: 'The codes that are sent by email.' }, [
      { name: 'otp_lifetime', label: 'Code lifetime' },
      { name: 'otp_max_attempts', label: 'Maximum attempts per code', hint: '1 to 20.' },
    ]),
    passwordMigrationSection,
  ]),
  subjectOf({ name: 'security', title: 'Security', text: 'How accounts are protected.' }, [
    formSection({ title: 'Password policy' }, [
      { name: 'password_min_length', label: 'Minimum password length', hint: 'Characters, 8 to 64.' },
      {
        name: 'breached_passwords',
        label: 'Breached password protection',
        choices: breachedPasswordChoices,
        hint: 'Uses BREACHED_PASSWORDS_URL and BREACHED_PASSWORDS_FILE, if set. The password itself is never sent.',
      },
      {
        name: 'breached_password_sign_in',
        label: 'When someone signs in with a breached password',
        choices: breachedSignInChoices,
        hint: 'Looked up after the sign-in, at most every 30 days, while breached passwords are refused. A reset goes by email: nobody can choose a new password with the old one alone.',
      },
      { name: 'lockout_threshold', label: 'Lockout threshold', hint: 'Wrong passwords until the account is locked.' },
      { name: 'lockout_lifetime', label: 'Lockout duration' },
    ]),
    secondFactorSection,
  ]),
  subjectOf({ name: 'tokens', title: 'Sessions and tokens', text: 'How long people stay signed in, and how long tokens work.' }, [
    formSection({ title: terms.sessions }, [
      { name: 'session_lifetime', label: terms.session_lifetime },
      { name: 'session_idle_lifetime', label: 'Session idle lifetime', hint: 'Time without activity. Leave empty for no limit.' },
    ]),
    formSection({ title: 'Token lifetimes', text: 'For clients and API resources without their own.' }, [
      { name: 'default_access_token_lifetime', label: 'Default access token lifetime' },
      { name: 'id_token_lifetime', label: terms.id_token_lifetime },
      { name: 'refresh_token_lifetime', label: terms.refresh_token_lifetime },
      { name: 'refresh_token_idle_lifetime', label: 'Refresh token idle lifetime' },
      {
        name: 'unused_authorization_lifetime',
        label: 'Unused authorization lifetime',
        hint: 'Clients that don’t use what people allowed them lose it after this time. Leave empty to keep it.',
      },
    ]),
    formSection({ title: 'Approvals' }, [
      { name: 'approval_lifetime', label: 'Approval lifetime', hint: 'How long people can answer what clients ask them elsewhere (CIBA).' },
      {
        name: 'approval_confirmation',
        label: 'Approving takes',
        choices: async () => [
          { value: 'fresh', label: 'A new passkey, or password and second factor' },
          { value: 'session', label: 'Being signed in' },
        ],
      },
    ]),
    formSection({ title: terms.events }, [
      {
        name: 'record_token_issued',
        label: 'Record token.issued',
        hint: 'Every access token becomes an event, even if no webhook asks for it.',
      },
    ]),
    formSection(
      {
        title: 'Signing algorithms',
        text: 'The algorithms that clients and API resources can choose. Each has its own keys, which rotate automatically.',
      },
      [{ name: 'signing_algorithms', label: 'Signing algorithms', kind: 'checks', choices: allSigningAlgorithmChoices }],
    ),
  ]),
  subjectOf({ name: 'protocol', title: 'Protocol', text: 'What applications must do, and which of them can register themselves.' }, [
    formSection(
      {
        title: terms.pushed_authorization_requests,
        text: 'Require all clients to push authorization requests to /oauth/par before redirecting the browser (RFC 9126).',
      },
      [{ name: 'require_pushed_authorization_requests', label: terms.require_pushed_authorization_requests }],
    ),
    formSection(
      {
        title: terms.dpop,
        text: 'Clients that prove a key get tokens bound to it (RFC 9449). A nonce prevents proofs from being created in advance, at the cost of an occasional extra request.',
      },
      [{ name: 'dpop_nonce', label: 'DPoP nonce', hint: 'Whether every proof must contain a nonce.', choices: dpopNonceChoices }],
    ),
    ...selfRegistrationSections,
  ]),
];

/** The address of a page of the settings; the first is that of the settings themselves. */
export const settingsPath = ({ name }: FormSubject): string =>
  name === settingsSubjects[0].name ? '/dashboard/settings' : `/dashboard/settings/${name}`;
