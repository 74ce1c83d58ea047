import type { Request } from 'express';
import { listAttention, type AttentionKind } from '../../domain/health/attention.js';
import type { Context } from '../../domain/context.js';
import type { Health, Trouble } from '../../domain/health/health.js';
import { dateTimeWords } from '../../lib/date-words.js';
import { named } from '../../lib/named.js';
import type { Part, Value } from './page-parts.js';
import { figure, nothing, quiet, stack, state, text } from './values.js';

const failures: Record<string, string> = named({
  non_2xx: 'The receiver did not answer with success',
  timeout: 'No answer within the time limit',
  dns: 'The name could not be resolved',
  connect: 'No connection: nothing listens there',
  tls: 'The certificate or the TLS handshake failed',
  redirect: 'The receiver redirected; redirects are not followed',
  blocked_address: 'The address is in a private network',
  webhook_disabled: 'The webhook was disabled',
  internal_error: 'The service could not make the request',
  receiver_gone: 'The receiver answered 410 Gone',
  consecutive_failures: '100 events in a row failed',
  provider: 'The provider refused, or did not answer',
  mail_server: 'The mail server could not be reached',
  no_mail_server: 'No mail server is set, so codes, invitations and password resets aren’t sent',
  dns_record: 'The DNS record that proves the domain is gone',
  certificate_away: 'The domain has no TLS, so it can’t be opened over https',
  certificate_name: 'Its certificate is for other names',
  certificate_expired: 'Its certificate has expired',
  certificate_chain: 'Its certificate isn’t trusted',
  certificate_expiring: 'Its certificate expires within 14 days',
  key_missing: 'There is no key: nothing can be signed with this algorithm',
  key_old: 'The key has signed for more than 100 days',
  key_no_next: 'The key has signed for 90 days, and there is no next one',
});

/** Why an attempt failed, in words. */
export const failureWords = (value: unknown): string => failures[String(value)] ?? String(value);

/** The same as a value; a dash for none. */
export const failureReason = (value: unknown): Value => (typeof value === 'string' ? text(failureWords(value)) : nothing);

/** What came of the last attempt: the answer, or why there was none. */
export function lastAnswer({ trouble, response_status, error }: NonNullable<Health>): string {
  if (response_status !== null && trouble === 'failing')
    return `The ${error === 'mail_server' ? 'mail server' : 'receiver'} answered ${response_status}`;
  return failureWords(error);
}

const words: Record<Trouble, string> = { failing: 'Failing', stopped: 'Stopped', missing: 'Missing', overdue: 'Overdue' };

const attemptsFailed = (count: number) => (count === 1 ? 'The last attempt has failed' : `The last ${figure(count)} attempts have failed`);

/** What is late hurts later; all else hurts now. */
const toneOf = ({ trouble }: NonNullable<Health>) => (trouble === 'overdue' ? 'warning' : 'bad');

/** The state of something that has to work: red while its last attempts fail; `sound` while they don't. */
export const healthState = (health: Health, sound: Value): Value =>
  health === null ? sound : state(toneOf(health), words[health.trouble]);

/** The same for a list, with the count of attempts and the last answer. */
export function healthCell(health: Health, sound: Value): Value {
  if (health === null) return sound;
  const count = health.attempts === 0 ? [] : [quiet(attemptsFailed(health.attempts))];
  return stack(healthState(health, sound), ...count, quiet(lastAnswer(health)));
}

/** What stands on top of a record that fails: how often, since when, and what was answered last. */
export function healthNotice(health: Health): Part[] {
  if (health === null) return [];
  const since = health.since === null ? '' : ` since ${dateTimeWords(health.since.toISOString())}`;
  const what = health.trouble === 'failing' && health.attempts > 0 ? attemptsFailed(health.attempts) : words[health.trouble];
  return [{ kind: 'notice', tone: toneOf(health), text: `${what}${since}. ${lastAnswer(health)}.` }];
}

/** The health of a record of a kind that is judged as a whole; null while nothing is wrong. */
export async function healthOfRecord(ctx: Context, kind: AttentionKind | undefined, id: string): Promise<Health> {
  if (kind === undefined) return null;
  return (await listAttention(ctx, [kind])).find((one) => one.id === id)?.health ?? null;
}

/** For the lists of such a kind: what stands in the place of the state of records that something is wrong with, by id. */
export const healthExtras =
  (kind: AttentionKind) =>
  async ({ req }: { readonly req: Request }): Promise<ReadonlyMap<string, Value>> =>
    new Map((await listAttention(req.call.ctx, [kind])).map(({ id, health }) => [id ?? '', healthCell(health, nothing)]));
