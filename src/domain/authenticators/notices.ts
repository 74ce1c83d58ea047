import type { UserRow } from '../../db/tables/users.js';
import type { Context } from '../context.js';
import { queueMail, type MailOrigin } from '../mail/mail.js';

/** What the owner of an account is told by mail, whoever did it. `name` is what the owner, or an administrator, calls the factor. */
export type Notice =
  | { readonly kind: 'factor_added' | 'factor_removed'; readonly what: 'passkey' | 'totp'; readonly name: string }
  | { readonly kind: 'passkey_copied'; readonly name: string }
  | { readonly kind: 'recovery_codes_made' | 'recovery_codes_removed' | 'two_step_on' | 'two_step_off' | 'reset' | 'second_step_locked' }
  | { readonly kind: 'recovery_code_used'; readonly left: number };

const kindWords = { passkey: 'passkey', totp: 'authenticator app' } as const;
const wasIt = 'If it wasn’t you, change your password, and remove whatever of your sign-in methods isn’t yours:';

/** The words of a notice: a headline for the subject, what happened, and what to do. */
function wordsOf(notice: Notice): { headline: string; happening: string; advice: string } {
  switch (notice.kind) {
    case 'factor_added':
      return {
        headline: `A new ${kindWords[notice.what]} signs you in`,
        happening: `The ${kindWords[notice.what]} “${notice.name}” was added to your account.`,
        advice: wasIt,
      };
    case 'factor_removed':
      return {
        headline: `${notice.what === 'totp' ? 'An' : 'A'} ${kindWords[notice.what]} was removed`,
        happening: `The ${kindWords[notice.what]} “${notice.name}” was removed from your account.`,
        advice: 'If it wasn’t you, change your password, and add it again:',
      };
    case 'passkey_copied':
      return {
        headline: 'A passkey was refused',
        happening: `The passkey “${notice.name}” was refused: it seems that a copy of it exists.`,
        advice: 'Remove this passkey from your account and add another:',
      };
    case 'recovery_codes_made':
      return {
        headline: 'You have new recovery codes',
        happening: 'New recovery codes were made for your account; earlier ones are no longer good.',
        advice: wasIt,
      };
    case 'recovery_codes_removed':
      return {
        headline: 'Your recovery codes were removed',
        happening: 'The recovery codes of your account are no longer good.',
        advice: wasIt,
      };
    case 'recovery_code_used':
      return {
        headline: 'A recovery code was used',
        happening: `A recovery code of your account was used. ${leftWords(notice.left)}`,
        advice: notice.left < 3 ? `Make new codes soon. ${wasIt}` : wasIt,
      };
    case 'two_step_on':
      return { headline: 'Two-step sign-in is on', happening: 'Your account now asks for a second step when you sign in.', advice: wasIt };
    case 'two_step_off':
      return {
        headline: 'Two-step sign-in is off',
        happening: 'Your account no longer asks for a second step when you sign in.',
        advice: wasIt,
      };
    case 'reset':
      return {
        headline: 'Your sign-in methods were reset',
        happening: 'An administrator removed the passkeys, authenticator apps and recovery codes of your account, and ended all sessions.',
        advice: 'Sign in and set them up again; if you didn’t ask for this, tell whoever runs the service:',
      };
    case 'second_step_locked':
      return {
        headline: 'Your second step is locked',
        happening: 'So many wrong second steps came for your account that it takes none for a while. Whoever it was knows your password.',
        advice: 'If it wasn’t you, change your password:',
      };
  }
}

const leftWords = (left: number) => (left === 0 ? 'None is left.' : left === 1 ? 'One is left.' : `${left} are left.`);

/** What happened as templates in other languages than English ask for it: one flag is true. */
function factsOf(notice: Notice): Record<string, string | boolean> {
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
export async function tellOwner(tx: Context, user: Pick<UserRow, 'email' | 'locale'>, notice: Notice, origin: MailOrigin): Promise<void> {
  const model = { ...wordsOf(notice), ...factsOf(notice), account_url: `${tx.environment.issuer}/account` };
  await queueMail(tx, { template: 'sign_in_methods', to: user.email, locale: user.locale, model, origin });
}
