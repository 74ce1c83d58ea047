import type { MailCondition } from '../../db/tables/attention.js';
import type { CertificateProblem, CustomDomainRow } from '../../db/tables/custom_domains.js';
import type { SigningKeyRow } from '../../db/tables/signing_keys.js';
import type { WebhookRow } from '../../db/tables/webhooks.js';
import type { LogStreamRow } from '../../db/tables/log_streams.js';

/**
 * What is wrong with something that has to work. `failing`: its last attempts failed. `stopped`: the service gave it up. `missing`: what it needs isn't there.
 * `overdue`: what should have happened by now has not.
 */
export type Trouble = 'failing' | 'stopped' | 'missing' | 'overdue';

/** How something that has to work is doing, by its own last attempts: null while nothing is wrong. */
export type Health = {
  readonly trouble: Trouble;
  readonly since: Date | null;
  /** How many attempts in a row failed. */
  readonly attempts: number;
  /** What was answered last; null: nothing. */
  readonly response_status: number | null;
  /** Why the last attempt failed. */
  readonly error: string | null;
} | null;

/** A row, or what the API shows of it: times are texts there. */
type Shown<Row> = { readonly [Name in keyof Row]: Date extends Row[Name] ? Row[Name] | string : Row[Name] };

const timeOf = (value: Date | string | null): Date | null => (value === null ? null : new Date(value));

/** Whether a webhook takes what it is sent: the one reading of it, for the doctor, the API's readers and every page. */
export function webhookHealth(
  webhook: Shown<
    Pick<
      WebhookRow,
      'status' | 'disabled_reason' | 'failing_since' | 'failed_attempt_count' | 'last_response_status' | 'last_failure_reason'
    >
  >,
): Health {
  const { status, disabled_reason, failed_attempt_count: attempts, last_response_status: response_status } = webhook;
  const known = { since: timeOf(webhook.failing_since), attempts, response_status };
  if (disabled_reason !== null) return { trouble: 'stopped', ...known, error: disabled_reason };
  if (status === 'disabled' || attempts === 0) return null;
  return { trouble: 'failing', ...known, error: webhook.last_failure_reason };
}

/** Whether a log stream takes what it is sent. */
export function logStreamHealth(
  stream: Shown<Pick<LogStreamRow, 'status' | 'failing_since' | 'last_response_status' | 'last_error'>> & {
    readonly failed_attempt_count: number;
  },
): Health {
  const { status, failing_since, failed_attempt_count: attempts, last_response_status: response_status, last_error: error } = stream;
  if (failing_since === null) return null;
  return { trouble: status === 'paused' ? 'stopped' : 'failing', since: timeOf(failing_since), attempts, response_status, error };
}

/** Failures from which on a connection fails: one person who gave up at the provider is none. */
const manyFailures = 3;

/** Whether people come in through a connection: `failed` sign-ins at its provider since yesterday, without one that succeeded. */
export function connectionHealth({ failed, since }: { failed: number; since: Date | null }): Health {
  if (failed < manyFailures) return null;
  return { trouble: 'failing', since, attempts: failed, response_status: null, error: 'provider' };
}

/** Whether mail leaves: something waits for another attempt, or was given up, and nothing has left since. */
export function mailHealth(mail: MailCondition): Health {
  const since = mail.waiting_since ?? (mail.failed >= manyFailures ? mail.failed_since : null);
  if (since === null || (mail.last_sent_at !== null && mail.last_sent_at >= since)) return null;
  // Only the status: the rest of an answer may name the recipient.
  const status = /\b[45]\d\d\b/.exec(mail.last_error ?? '')?.[0];
  const attempts = Math.max(mail.attempts, mail.retrying, mail.failed);
  return { trouble: 'failing', since, attempts, response_status: status === undefined ? null : Number(status), error: 'mail_server' };
}

const dayMs = 86_400_000;
/** A primary key signs for 90 days (specification 5.11.1); the loop that changes it over has ten days to notice. A next key is published for a day before it signs. */
const [rotationDays, oldDays] = [90, 100];

type ActingKey = Pick<SigningKeyRow, 'kid' | 'algorithm' | 'status' | 'activated_at' | 'created_at'>;

/** How the change-over of an algorithm's keys is doing; null while it is in time. `expected_at`: when the next one takes over. */
export type KeyCondition = {
  readonly fault: 'missing' | 'old' | 'no_next' | 'waiting';
  readonly days: number;
  readonly expected_at: Date | null;
};

export function keyCondition(keys: readonly ActingKey[], now: Date): KeyCondition | null {
  const primary = keys.find(({ status }) => status === 'primary');
  const next = keys.find(({ status }) => status === 'next');
  if (!primary) return { fault: 'missing', days: 0, expected_at: null };
  const days = Math.floor((now.getTime() - (primary.activated_at ?? primary.created_at).getTime()) / dayMs);
  if (days <= rotationDays) return null;
  if (!next) return { fault: days > oldDays ? 'old' : 'no_next', days, expected_at: null };
  if (days <= oldDays) return null;
  const expected_at = new Date(next.created_at.getTime() + dayMs);
  return { fault: now < expected_at ? 'waiting' : 'old', days, expected_at };
}

/** The same as the health of the keys; what is on its way is well. */
export function signingKeyHealth(keys: readonly ActingKey[], now: Date): Health {
  const condition = keyCondition(keys, now);
  if (condition === null || condition.fault === 'waiting') return null;
  const since = condition.fault === 'missing' ? null : new Date(now.getTime() - (condition.days - rotationDays) * dayMs);
  return {
    trouble: condition.fault === 'missing' ? 'missing' : 'overdue',
    since,
    attempts: 0,
    response_status: null,
    error: `key_${condition.fault}`,
  };
}

/** A certificate should have been renewed when it has so many days left. */
export const renewalDays = 14;

/** What is wrong with a certificate; null while it is trusted, is for its name, and lasts for two weeks and more. */
export function certificateCondition(
  problem: CertificateProblem | null,
  expires_at: Date | null,
  now: Date,
): CertificateProblem | 'expiring' | null {
  const days = expires_at === null ? renewalDays : Math.floor((expires_at.getTime() - now.getTime()) / dayMs);
  if (problem === 'expired' || days < 0) return 'expired';
  return problem ?? (days < renewalDays ? 'expiring' : null);
}

/** Whether people reach a custom domain: by its DNS record, and by its certificate. */
export function domainHealth(
  domain: Pick<CustomDomainRow, 'status' | 'missing_since' | 'certificate_problem' | 'certificate_expires_at'>,
  now: Date,
): Health {
  const { status, missing_since, certificate_problem, certificate_expires_at } = domain;
  const known = { attempts: 0, response_status: null };
  if (status === 'failed') return { trouble: 'stopped', since: null, ...known, error: 'dns_record' };
  if (missing_since !== null) return { trouble: 'missing', since: missing_since, ...known, error: 'dns_record' };
  const condition = certificateCondition(certificate_problem, certificate_expires_at, now);
  if (condition === null) return null;
  const since = condition === 'expired' ? certificate_expires_at : null;
  return { trouble: condition === 'expiring' ? 'overdue' : 'failing', since, ...known, error: `certificate_${condition}` };
}
