import { createHash } from 'node:crypto';
import { takeRateLimit } from '../../db/tables/rate_limits.js';
import { findUser } from '../../db/tables/users.js';
import type { MailTemplateRow } from '../../db/tables/mail_templates.js';
import { RateLimitedError } from '../../errors.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { Refusal } from '../refusal.js';
import { queueRendered } from './mail.js';
import type { MailName } from './mails.js';
import { renderSample } from './sample.js';

/** So many tests in ten minutes, of all templates together. */
const testLimit = { limit: 10, window_ms: 600_000 } as const;

/** Counts a test of the person. @throws {RateLimitedError} */
export async function countTestMail(ctx: Context, actor: Pick<Actor, 'actor_id'>): Promise<void> {
  const key = createHash('sha256').update(`mail_template_test ${ctx.environment.id} ${actor.actor_id}`).digest();
  const demand = { ...testLimit, cost: 1, wanted: 1, lease_ms: 0, refund: 0, refund_at: 0 };
  const { granted, retry_ms } = await takeRateLimit(ctx.scope.knex, key, demand);
  if (granted === 0) throw new RateLimitedError(Math.max(1, Math.ceil(retry_ms / 1000)));
}

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
