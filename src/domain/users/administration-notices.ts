import type { UserRow } from '../../db/tables/users.js';
import type { Context } from '../context.js';
import { queueMail } from '../mail/mail.js';
import { noOrigin } from '../origin.js';

/**
 * Tells somebody by mail what an administrator changed of how they sign in: the password, and the address, at the one of before too. The mails don't say
 * from where, which is the administrator's address, and the address of before doesn't learn the new one: it may have been somebody else's by mistake.
 */
export async function tellOfAdministration(tx: Context, before: UserRow, after: UserRow, password: boolean): Promise<void> {
  const { email, locale } = after;
  if (before.email_key !== after.email_key) {
    for (const [to, old] of [
      [before.email, true],
      [email, false],
    ] as const)
      await queueMail(tx, { template: 'email_changed', to, locale, model: { old, administrator: true }, origin: noOrigin });
  }
  if (!password) return;
  const model = { reset_url: `${tx.environment.issuer}/password/forgot`, administrator: true };
  await queueMail(tx, { template: 'password_changed', to: email, locale, model, origin: noOrigin });
}
