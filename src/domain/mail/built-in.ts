import type { MailName, MailText } from './mails.js';

const mail = (subject: string, ...paragraphs: readonly string[]): MailText => ({
  subject,
  text: `${paragraphs.join('\n\n')}\n`,
  html: null,
});

const asked = 'Somebody asked for this {{origin}}. If it wasn’t you, you need do nothing:';
const unchanged = `${asked} your account is as it was.`;

/**
 * The words of every mail where an environment has none of its own, in English; their HTML follows from them (`html-of-text.ts`). Never the code in a
 * subject: subjects are shown on locked screens, and kept by relays and their logs.
 */
export const builtInTexts: Readonly<Record<MailName, MailText>> = {
  register_code: mail(
    'Your code for {{environment_name}}',
    'Your code to create an account at {{environment_name}}:',
    '{{code}}',
    'Enter it on the page where you asked for it. It is valid for {{expires_in}}.',
    `${asked} without the code, nothing happens.`,
  ),
  account_exists: mail(
    'You already have an account at {{environment_name}}',
    'Somebody wanted to create an account at {{environment_name}} with this email address. You have one already.',
    'To sign in:\n{{login_url}}',
    'If you forgot your password, set a new one:\n{{reset_url}}',
    unchanged,
  ),
  password_reset_code: mail(
    'Reset your password at {{environment_name}}',
    'Your code to set a new password at {{environment_name}}:',
    '{{code}}',
    'Enter it on the page where you asked for it, or open this one:\n{{reset_url}}',
    'The code is valid for {{expires_in}}.',
    `{{#administrator}}
An administrator asked for this {{origin}}. If you did not expect it, ask before you use the code.
{{/administrator}}
{{^administrator}}
${asked} without the code, your password stays as it is.
{{/administrator}}`,
  ),
  sign_in_code: mail(
    'Your code to sign in to {{environment_name}}',
    'Your code to sign in to {{environment_name}}:',
    '{{code}}',
    'Enter it on the page where you asked for it. It is valid for {{expires_in}}, once.',
    'Somebody asked for this {{origin}}. If it wasn’t you, give the code to nobody{{#second}}, and change your password: somebody knows it.{{/second}}{{^second}}: without it, nothing happens.{{/second}}',
  ),
  sign_in_elsewhere: mail(
    'Sign in with {{provider}} at {{environment_name}}',
    'Somebody asked for an account, or for a new password, at {{environment_name}} with this email address. It signs in with {{provider}}, and needs no password here.',
    'To sign in:\n{{login_url}}',
    unchanged,
  ),
  password_changed: mail(
    'Your password at {{environment_name}} was changed',
    'The password of your account at {{environment_name}} was changed {{origin}}. Your other sessions have been ended, and applications must sign in anew.',
    'If it wasn’t you, set a new password at once:\n{{reset_url}}',
  ),
  password_reset_done: mail(
    'Your password at {{environment_name}} was reset',
    'A new password was set for your account at {{environment_name}} with a code from your mail {{origin}}. All sessions have been ended.',
    `{{#has_accounts}}
These accounts still sign you in:
{{#accounts}}
{{.}}
{{/accounts}}

Disconnect what isn’t yours:
{{account_url}}

{{/has_accounts}}
If it wasn’t you, somebody can read your mail. Change the password of your mailbox, then set a new one here:
{{reset_url}}`,
  ),
  account_linked: mail(
    '{{provider}} now signs you in at {{environment_name}}',
    'Your {{provider}} account{{#provider_email}} ({{provider_email}}){{/provider_email}} was connected to your account at {{environment_name}} {{origin}}. From now on it signs you in.',
    'If it wasn’t you, disconnect it and change your password:\n{{account_url}}',
  ),
  new_sign_in: mail(
    'New sign-in at {{environment_name}}',
    `{{#application}}
You allowed a device to use your account at {{environment_name}} with {{application}}. The device asked for it {{origin}}.
{{/application}}
{{^application}}
Somebody signed in to your account at {{environment_name}} {{origin}}, on a device that we have not seen before.
{{/application}}`,
    'If it wasn’t you, end that session and change your password:\n{{account_url}}',
  ),
  sign_in_methods: mail(
    '{{headline}} at {{environment_name}}',
    '{{happening}} This happened at {{environment_name}} {{origin}}.',
    '{{advice}}\n{{account_url}}',
  ),
  primary_domain: mail(
    'The address of {{environment_name}} was changed',
    'Sign-ins at {{environment_name}}, and the links in its mails, lead to {{address}} from now on. {{by}} changed it {{origin}}.',
    'Whoever holds that address receives everybody’s recovery links. If it wasn’t you or somebody you asked, take it back at once:\n{{domains_url}}',
  ),
  domain_record_missing: mail(
    '{{#failed}}A custom domain of {{environment_name}} has been taken out of use{{/failed}}{{^failed}}The DNS record of a custom domain of {{environment_name}} is missing{{/failed}}',
    `{{#failed}}
The DNS record that proves a custom domain of {{environment_name}} has been missing for {{days}} days. The environment no longer answers there. If it was the primary domain, the issuer and the links in mails are made of the base URL again.
{{/failed}}
{{^failed}}
The DNS record that proves a custom domain of {{environment_name}} is missing. If it is still missing in {{days}} days, the environment no longer answers there.
{{/failed}}`,
    'Which domain, and the record to set:\n{{domain_url}}',
  ),
};
