import { findUser } from '../../db/tables/users.js';
import type { MailTemplateRow } from '../../db/tables/mail_templates.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { Refusal } from '../refusal.js';
import { countMail } from './mail-budget.js';
import { queueRendered } from './mail.js';
import type { MailName } from './mails.js';
import { renderSample } from './sample.js';

/** Counts a test of the person, of whichever template. @throws {RateLimitedError} */
export const countTestMail = (ctx: Context, { actor_id }: Pick<Actor, 'actor_id'>): Promise<void> =>
  countMail(ctx, 'mail_template_test', String(actor_id));

/** Where a test goes: the proven address of whoever asks for it, and nowhere else, so that nobody sends what they like to whom they like. @throws {Refusal} 409 */
export async function addressOfTester(ctx: Context, actor: Pick<Actor, 'actor_kind' | 'actor_id'>): Promise<string> {
  const user = actor.actor_kind === 'user' && actor.actor_id !== null ? await findUser(ctx.scope, actor.actor_id) : null;
  if (user?.email_verified) return user.email;
  const detail =
    'A test goes to the verified address of the person who asks for it; a client, or somebody whose address is not verified, has none.';
  throw new Refusal({ status: 409, code: 'no_proven_address', detail });
}

/** Sends the template with sample values, marked as a test. */
export async function sendTestMail(tx: Context, to: string, template: MailTemplateRow): Promise<void> {
  const name = template.name as MailName;
  const mail = renderSample(tx.environment, name, template, template.locale ?? tx.environment.default_locale);
  await queueRendered(tx, { template: name, ...mail, subject: `[Test] ${mail.subject}` }, { to, send_before: null, discarded: false });
}
