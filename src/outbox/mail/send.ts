import type { Deps } from '../../domain/context.js';
import { openMail } from '../../domain/mail/mail.js';
import { mailQueueRows, oldestDueMailSeconds, recordMails, type MailRecord, type MailRow } from '../../db/tables/mails.js';
import { isPermanentMailError } from '../../platform/mailer.js';
import type { Loop } from '../../platform/loop.js';
import { startQueueLoop } from '../queue/loop.js';
import type { AttemptOutcome, Queue } from '../queue/queue.js';
import { rowQueue, type RowJob } from '../queue/row-queue.js';

type MailDeps = Pick<Deps, 'db' | 'net' | 'crypto' | 'clock' | 'logger' | 'metrics' | 'tracer' | 'config'>;

/** Longer than any send can take, so that a lease only runs out when its process is gone. */
const leaseMs = 60_000;
/** What platform/mailer.ts gives a whole mail. */
const timeoutMs = 30_000;
/** At most ten mails in flight and twenty claimed; stopping waits five seconds for those in flight. */
const limits = { inFlight: 10, inFlightPerDestination: 10, held: 20, pollMs: 1_000, stopMs: 5_000 } as const;
const firstRetryMs = 1_000;
const maxRetryMs = 300_000;
/** A mail without a time limit of its own is given up after some two and a half days of retries. */
const maxAttempts = 720;

type Sending = AttemptOutcome & Omit<MailRecord, 'environment_id' | 'id' | 'lease_id'>;
type Result = Omit<Sending, 'durationMs'>;

/** 1 s, 2 s, 4 s ... 5 min, spread by a fifth so that a recovering server isn't hit by all at once. */
const retryMs = (attempt_number: number): number =>
  Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(attempt_number - 1, 20)) * (0.8 + Math.random() * 0.4);

const words = (error: unknown) => (error instanceof Error ? error.message : String(error)).slice(0, 500);

/** Whether the SMTP server is unavailable (unreachable, 421, credentials refused), which counts for the breaker. A reply that refuses this mail doesn't count. */
function isOutage(error: unknown): boolean {
  const { responseCode, code } = (error ?? {}) as { responseCode?: unknown; code?: unknown };
  if (responseCode === 421 || code === 'EAUTH' || (error instanceof Error && error.name === 'TimeoutError')) return true;
  return responseCode === undefined && typeof code === 'string' && !isPermanentMailError(error);
}

function failure({ logger }: MailDeps, mail: MailRow, error: unknown): Result {
  const about = { mail_id: mail.id, environment_id: mail.environment_id };
  const attempt_count = mail.attempt_count + 1;
  const common = { ok: !isOutage(error), last_error: words(error), sent_at: null, forget: false };
  if (isPermanentMailError(error) || attempt_count >= maxAttempts) {
    logger.error({ event: 'mail.failed', ...about, err: error }, 'a mail was given up');
    return { ...common, status: 'failed', retry_in_ms: null };
  }
  const retry_in_ms = retryMs(attempt_count);
  logger.warn(
    { event: 'mail.delayed', ...about, attempt_count, retry_seconds: Math.round(retry_in_ms / 1000), err: error },
    'a mail could not be sent and is tried again',
  );
  return { ...common, status: 'pending', retry_in_ms };
}

/** @throws the signal's reason when the signal ends it, whatever the mailer does then */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** One attempt, outside any transaction. Without an SMTP server the mail stays here, for the development mailbox. */
async function attempt(deps: MailDeps, mail: MailRow, signal: AbortSignal): Promise<Result> {
  const { logger, clock, config } = deps;
  const { mailer } = deps.net;
  const done = { ok: true, status: 'sent', last_error: null, sent_at: clock.now(), retry_in_ms: null } as const;
  if (mail.discarded) return { ...done, forget: true };
  if (mail.send_before !== null && mail.send_before <= clock.now())
    return { ...done, status: 'failed', sent_at: null, forget: false, last_error: 'too late: its code has expired' };
  try {
    const { template, subject, text, html, language } = openMail(deps.crypto.sealer, mail);
    const about = { mail_id: mail.id, environment_id: mail.environment_id, template, to: mail.recipient };
    if (mailer === null) {
      if (config.loopback) logger.info({ event: 'mail.captured', ...about }, 'a mail was captured: see /dev/mailbox');
      else logger.warn({ event: 'mail.not_sent', ...about }, 'a mail was not sent: SMTP_URL is not set');
      return { ...done, forget: false };
    }
    const message_id = `<${mail.id}@${new URL(config.baseUrl).hostname}>`;
    await untilAborted(mailer.send({ to: mail.recipient, subject, text, html, language, message_id }, signal), signal);
    logger.info({ event: 'mail.sent', ...about }, 'a mail was sent');
    return { ...done, sent_at: clock.now(), forget: true };
  } catch (error) {
    signal.throwIfAborted();
    return failure(deps, mail, error);
  }
}

async function record(deps: MailDeps, results: readonly { job: RowJob<MailRow>; result: Sending }[]): Promise<void> {
  const records = results.map(({ job, result: { status, last_error, sent_at, forget, retry_in_ms } }) => ({
    environment_id: job.row.environment_id,
    id: job.row.id,
    lease_id: job.lease_id,
    status,
    last_error,
    sent_at,
    forget,
    retry_in_ms,
  }));
  const written = new Set(await recordMails(deps.db.knex, records));
  for (const { id, status } of records) {
    deps.metrics.deliveries.inc({ queue: 'mail', outcome: status === 'pending' ? 'retry' : status });
    // Another process has taken the mail over and writes its own outcome.
    if (!written.has(id)) deps.logger.warn({ event: 'mail.lease_lost', mail_id: id }, 'another process has taken over a mail');
  }
}

export const mailQueue = (deps: MailDeps): Queue<RowJob<MailRow>, Sending> => ({
  ...rowQueue(mailQueueRows, deps.db.knex, leaseMs),
  name: 'mail',
  limits,
  timeoutMs,
  retryBaseMs: firstRetryMs,
  async tidy() {
    deps.metrics.outboxAge.set({ queue: 'mail' }, await oldestDueMailSeconds(deps.db.knex));
  },
  async attempt(job, signal) {
    const started = performance.now();
    const result = await attempt(deps, job.row, signal);
    return { ...result, durationMs: performance.now() - started };
  },
  record: (results) => record(deps, results),
});

/** Sends mail until stopped: woken at commit, else looking once a second. */
export const startMailLoop = (deps: Deps): Loop => startQueueLoop(mailQueue(deps), deps);
