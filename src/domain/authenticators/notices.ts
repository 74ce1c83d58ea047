import type { UserRow } from '../../db/tables/users.js';
import { message, type Message, type MessageKey } from '../../lib/languages/messages.js';
import type { Context } from '../context.js';
import { queueMail, type MailOrigin } from '../mail/mail.js';

/** What the owner of an account is told by mail, whoever did it. `name` is what the owner, or an administrator, calls the factor. */
export type AuthenticatorNotice =
  | { readonly kind: 'factor_added' | 'factor_removed'; readonly what: 'passkey' | 'totp'; readonly name: string }
  | { readonly kind: 'passkey_copied'; readonly name: string }
  | { readonly kind: 'recovery_codes_made' | 'recovery_codes_removed' | 'two_step_on' | 'two_step_off' | 'reset' | 'second_step_locked' }
  | { readonly kind: 'recovery_code_used'; readonly left: number };

type Wording = { readonly headline: Message; readonly happening: Message; readonly advice: Message };

const wording = (headline: MessageKey, happening: Message, advice: MessageKey): Wording => ({
  headline: message(headline),
  happening,
  advice: message(advice),
});

/** A headline for the subject, what happened, and what to do. */
function wordsOf(notice: AuthenticatorNotice): Wording {
  switch (notice.kind) {
    case 'factor_added':
      return notice.what === 'passkey'
        ? wording('mail.passkey_added_headline', message('mail.passkey_added', { factor_name: notice.name }), 'mail.advice_not_you')
        : wording('mail.totp_added_headline', message('mail.totp_added', { factor_name: notice.name }), 'mail.advice_not_you');
    case 'factor_removed':
      return notice.what === 'passkey'
        ? wording('mail.passkey_removed_headline', message('mail.passkey_removed', { factor_name: notice.name }), 'mail.advice_removed')
        : wording('mail.totp_removed_headline', message('mail.totp_removed', { factor_name: notice.name }), 'mail.advice_removed');
    case 'passkey_copied':
      return wording('mail.passkey_copied_headline', message('mail.passkey_copied', { factor_name: notice.name }), 'mail.advice_copied');
    case 'recovery_codes_made':
      return wording('mail.recovery_codes_made_headline', message('mail.recovery_codes_made'), 'mail.advice_not_you');
    case 'recovery_codes_removed':
      return wording('mail.recovery_codes_removed_headline', message('mail.recovery_codes_removed'), 'mail.advice_not_you');
    case 'recovery_code_used':
      return wording(
        'mail.recovery_code_used_headline',
        message('mail.recovery_code_used', { count: notice.left }),
        notice.left < fewCodes ? 'mail.advice_few_codes' : 'mail.advice_not_you',
      );
    case 'two_step_on':
      return wording('mail.two_step_on_headline', message('mail.two_step_on'), 'mail.advice_not_you');
    case 'two_step_off':
      return wording('mail.two_step_off_headline', message('mail.two_step_off'), 'mail.advice_not_you');
    case 'reset':
      return wording('mail.methods_reset_headline', message('mail.methods_reset'), 'mail.advice_reset');
    case 'second_step_locked':
      return wording('mail.second_step_locked_headline', message('mail.second_step_locked'), 'mail.advice_locked');
  }
}

/** With fewer recovery codes than this left, one should make new ones. */
const fewCodes = 3;

/** What happened as templates that say it in words of their own ask for it: one flag is true. */
function factsOf(notice: AuthenticatorNotice): Record<string, string | boolean> {
  switch (notice.kind) {
    case 'factor_added':
    case 'factor_removed':
      return { [`${notice.what}_${notice.kind === 'factor_added' ? 'added' : 'removed'}`]: true, factor_name: notice.name };
    case 'passkey_copied':
      return { passkey_copied: true, factor_name: notice.name };
    case 'recovery_code_used':
      return { recovery_code_used: true, codes_left: String(notice.left) };
    default:
      return { [notice.kind]: true };
  }
}

/** Tells the owner of an account by mail, in the transaction of the change. */
export async function tellOwner(
  tx: Context,
  user: Pick<UserRow, 'email' | 'locale'>,
  notice: AuthenticatorNotice,
  origin: MailOrigin,
): Promise<void> {
  const model = { ...wordsOf(notice), ...factsOf(notice), account_url: `${tx.environment.issuer}/account` };
  await queueMail(tx, { template: 'sign_in_methods', to: user.email, locale: user.locale, model, origin });
}
