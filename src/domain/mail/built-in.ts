import type { Language } from '../../lib/languages/languages.js';
import { format, type MessageKey } from '../../lib/languages/messages.js';
import { variablesOf, type MailName, type MailText } from './mails.js';
import { memo } from '../../lib/memo.js';

type MailKey = Extract<MessageKey, `mail.${string}`>;

/** The text of the key with the variables of the mail as tags. */
type Say = (key: MailKey) => string;

type Wording = readonly [subject: string, ...paragraphs: string[]];

const where = (name: string, content: string) => `{{#${name}}}\n${content}\n{{/${name}}}`;
const unless = (name: string, content: string) => `{{^${name}}}\n${content}\n{{/${name}}}`;
const ifElse = (name: string, content: string, otherwise: string) => `${where(name, content)}\n${unless(name, otherwise)}`;
const inline = (name: string, content: string, otherwise: string) =>
  `{{#${name}}}${content}{{/${name}}}{{^${name}}}${otherwise}{{/${name}}}`;

/** When it was asked for or happened, with what and from where. */
const details = where('details', '{{.}}');

/**
 * What each mail says, of whole sentences in `data/languages`. Never the code in a subject: subjects are shown on locked screens, and kept by relays
 * and their logs.
 */
const wordings: Readonly<Record<MailName, (say: Say) => Wording>> = {
  register_code: (say) => [
    say('mail.register_code_subject'),
    say('mail.register_code'),
    '{{code}}',
    say('mail.code_valid'),
    details,
    say('mail.register_code_not_you'),
  ],
  account_exists: (say) => [
    say('mail.account_exists_subject'),
    say('mail.account_exists'),
    `${say('mail.sign_in_here')}\n{{login_url}}`,
    `${say('mail.password_forgotten')}\n{{reset_url}}`,
    details,
    say('mail.account_unchanged'),
  ],
  password_reset_code: (say) => [
    say('mail.password_reset_code_subject'),
    say('mail.password_reset_code'),
    '{{code}}',
    `${say('mail.code_or_link')}\n{{reset_url}}`,
    say('mail.code_valid_for'),
    details,
    ifElse('administrator', say('mail.administrator_asked'), say('mail.password_reset_code_not_you')),
  ],
  sign_in_code: (say) => [
    say('mail.sign_in_code_subject'),
    say('mail.sign_in_code'),
    '{{code}}',
    say('mail.code_valid_once'),
    details,
    ifElse('second', say('mail.sign_in_code_second_not_you'), say('mail.sign_in_code_not_you')),
  ],
  sign_in_elsewhere: (say) => [
    say('mail.sign_in_elsewhere_subject'),
    say('mail.sign_in_elsewhere'),
    `${say('mail.sign_in_here')}\n{{login_url}}`,
    details,
    say('mail.account_unchanged'),
  ],
  password_changed: (say) => [
    say('mail.password_changed_subject'),
    ifElse('administrator', say('mail.password_set_by_administrator'), say('mail.password_changed')),
    details,
    `${ifElse('administrator', say('mail.password_set_not_expected'), say('mail.password_changed_not_you'))}\n{{reset_url}}`,
  ],
  password_breached: (say) => [
    say('mail.password_breached_subject'),
    say('mail.password_breached'),
    where('reset_required', say('mail.password_breached_required')),
    `${say('mail.set_password_here')}\n{{reset_url}}`,
    say('mail.password_breached_elsewhere'),
    details,
  ],
  email_change_code: (say) => [
    say('mail.email_change_code_subject'),
    say('mail.email_change_code'),
    '{{code}}',
    say('mail.code_valid'),
    details,
    say('mail.email_change_code_not_you'),
  ],
  email_changed: (say) => [
    say('mail.email_changed_subject'),
    ifElse(
      'administrator',
      ifElse('old', say('mail.email_changed_old'), say('mail.email_changed_new')),
      ifElse('old', say('mail.email_changed_self_old'), say('mail.email_changed_self_new')),
    ),
    details,
    say('mail.email_changed_not_expected'),
  ],
  account_deletion_requested: (say) => [
    say('mail.account_deletion_subject'),
    say('mail.account_deletion_requested'),
    details,
    `${say('mail.account_deletion_keep')}\n{{login_url}}`,
  ],
  account_deleted: (say) => [say('mail.account_deletion_subject'), say('mail.account_deletion_done'), details],
  account_kept: (say) => [
    say('mail.account_deletion_subject'),
    say('mail.account_deletion_kept'),
    details,
    `${say('mail.account_deletion_kept_not_you')}\n{{reset_url}}`,
  ],
  address_proven: (say) => [
    say('mail.address_proven_subject'),
    ifElse('administrator', say('mail.address_proven_by_administrator'), say('mail.address_proven')),
    details,
    say('mail.address_proven_why'),
    where('password_removed', say('mail.gone_password')),
    where('authenticators_removed', say('mail.gone_authenticators')),
    where('sessions_ended', say('mail.gone_sessions')),
    where('applications_ended', say('mail.gone_applications')),
    where('has_accounts', [say('mail.gone_accounts'), where('accounts', '{{.}}')].join('\n\n')),
    where('password_removed', `${say('mail.set_password_here')}\n{{reset_url}}`),
    `${say('mail.address_proven_account')}\n{{account_url}}`,
    unless('administrator', `${say('mail.password_reset_done_not_you')}\n{{reset_url}}`),
  ],
  password_reset_done: (say) => [
    say('mail.password_reset_done_subject'),
    say('mail.password_reset_done'),
    details,
    where(
      'has_accounts',
      [say('mail.accounts_left'), where('accounts', '{{.}}'), `${say('mail.accounts_disconnect')}\n{{account_url}}`].join('\n\n'),
    ),
    `${say('mail.password_reset_done_not_you')}\n{{reset_url}}`,
  ],
  account_linked: (say) => [
    say('mail.account_linked_subject'),
    ifElse('provider_email', say('mail.account_linked_address'), say('mail.account_linked')),
    details,
    `${say('mail.account_linked_not_you')}\n{{account_url}}`,
  ],
  provider_access_lost: (say) => [
    say('mail.provider_access_lost_subject'),
    say('mail.provider_access_lost'),
    details,
    `${say('mail.provider_access_lost_again')}\n{{account_url}}`,
  ],
  agent_allowed: (say) => [
    say('mail.agent_allowed_subject'),
    say('mail.agent_allowed'),
    details,
    `${say('mail.agent_allowed_not_you')}\n{{applications_url}}`,
  ],
  approval_requested: (say) => [
    say('mail.approval_requested_subject'),
    say('mail.approval_requested'),
    where('binding_message', say('mail.approval_requested_about')),
    details,
    `${say('mail.approval_requested_answer')}\n{{approval_url}}`,
    say('mail.approval_requested_not_you'),
  ],
  authorization_ended: (say) => [say('mail.authorization_ended_subject'), `${say('mail.authorization_ended')}\n{{applications_url}}`],
  new_sign_in: (say) => [
    say('mail.new_sign_in_subject'),
    ifElse('application', say('mail.new_sign_in_device'), say('mail.new_sign_in')),
    details,
    `${say('mail.new_sign_in_not_you')}\n{{account_url}}`,
  ],
  sign_in_methods: () => ['{{headline}}', '{{happening}}', details, '{{advice}}\n{{account_url}}'],
  primary_domain: (say) => [
    say('mail.primary_domain_subject'),
    say('mail.primary_domain'),
    details,
    `${say('mail.primary_domain_not_you')}\n{{domains_url}}`,
  ],
  domain_verified: (say) => [
    say('mail.domain_verified_subject'),
    say('mail.domain_verified'),
    details,
    `${say('mail.domain_verified_not_you')}\n{{domains_url}}`,
  ],
  organization_invitation: (say) => [
    say('mail.organization_invitation_subject'),
    ifElse('inviter', say('mail.organization_invitation_by'), say('mail.organization_invitation')),
    `${say('mail.organization_invitation_accept')}\n{{invitation_url}}`,
    say('mail.organization_invitation_valid'),
    say('mail.organization_invitation_not_you'),
  ],
  domain_record_missing: (say) => [
    inline('failed', say('mail.domain_failed_subject'), say('mail.domain_missing_subject')),
    ifElse('failed', say('mail.domain_failed'), say('mail.domain_missing')),
    `${say('mail.domain_record')}\n{{domain_url}}`,
  ],
};

const writtenIn = memo((language: Language) => memo((name: MailName) => write(name, language)));

function write(name: MailName, language: Language): MailText {
  const tags = Object.fromEntries(Object.keys(variablesOf(name)).map((each) => [each, `{{${each}}}`]));
  const [subject, ...paragraphs] = wordings[name]((key) => format(language, key, tags));
  return { subject, text: `${paragraphs.join('\n\n')}\n`, html: null };
}

/** What the mail says where an environment has no template for it; its HTML follows from the text (`html-of-text.ts`). */
export const builtInText = (name: MailName, language: Language): MailText => writtenIn(language)(name);
