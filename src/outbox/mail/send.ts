import { randomUUID } from 'node:crypto';
import type { Deps } from '../../domain/context.js';
import { openMail } from '../../domain/mail/mail.js';
import { claimMails, oldestDueMailSeconds, settleMail, type MailOutcome, type MailRow } from '../../db/tables/mails.js';
import { isPermanentMailError } from '../../platform/mailer.js';
import { startLoop, type Loop } from '../../platform/loop.js';

type MailDeps = Pick<Deps, 'knex' | 'mailer' | 'sealer' | 'clock' | 'logger' | 'metrics' | 'config'>;

/** Longer than any send can take (platform/mailer.ts), so that a lease only runs out when its process is gone. */
const leaseSeconds = 60;
const maxInFlight = 10;
const pauseMs = 1_000;
const stopWaitMs = 5_000;
const firstRetrySeconds = 1;
const maxRetrySeconds = 300;
/** A mail without a time limit of its own is given up after some two and a half days of retries. */
const maxAttempts = 720;

/** 1 s, 2 s, 4 s ... 5 min, spread by a fifth so that a recovering server isn't hit by all at once. */
function retrySeconds(attempt_count: number): number {
  return Math.min(maxRetrySeconds, firstRetrySeconds * 2 ** Math.min(attempt_count - 1, 20)) * (0.8 + Math.random() * 0.4);
}

const words = (error: unknown) => (error instanceof Error ? error.message : String(error)).slice(0, 500);

/** One attempt, outside any transaction. Without an SMTP server the mail stays here, for the development mailbox. */
async function attempt(deps: MailDeps, mail: MailRow): Promise<MailOutcome> {
  const { mailer, logger, clock, config } = deps;
  const sent = { status: 'sent' as const, at: clock.now() };
  if (mail.discarded) return { ...sent, forget: true };
  if (mail.send_before !== null && mail.send_before <= clock.now())
    return { status: 'failed', last_error: 'too late: its code has expired' };
  try {
    const { template, subject, text, html } = openMail(deps.sealer, mail);
    const about = { mail_id: mail.id, environment_id: mail.environment_id, template, to: mail.recipient };
    if (mailer === null) {
      if (config.loopback) logger.info(about, 'mail.captured: see /dev/mailbox');
      else logger.warn(about, 'mail.not_sent: SMTP_URL is not set');
      return { ...sent, forget: false };
    }
    await mailer.send({ to: mail.recipient, subject, text, html, message_id: `<${mail.id}@${new URL(config.baseUrl).hostname}>` });
    logger.info(about, 'mail.sent');
    return { status: 'sent', at: clock.now(), forget: true };
  } catch (error) {
    const last_error = words(error);
    if (isPermanentMailError(error) || mail.attempt_count >= maxAttempts) {
      logger.error({ mail_id: mail.id, environment_id: mail.environment_id, err: error }, 'mail.failed');
      return { status: 'failed', last_error };
    }
    const retry_seconds = retrySeconds(mail.attempt_count);
    logger.warn(
      { mail_id: mail.id, attempt_count: mail.attempt_count, retry_seconds: Math.round(retry_seconds), err: error },
      'mail.delayed',
    );
    return { status: 'pending', last_error, retry_seconds };
  }
}

async function deliver(deps: MailDeps, mail: MailRow): Promise<void> {
  const outcome = await attempt(deps, mail);
  deps.metrics.deliveries.inc({ queue: 'mail', outcome: outcome.status === 'pending' ? 'retry' : outcome.status });
  // A lost lease: another process has taken the mail over and writes its own outcome.
  if (!(await settleMail(deps.knex, mail, outcome))) deps.logger.warn({ mail_id: mail.id }, 'mail.lease_lost');
}

function claim(deps: MailDeps, limit: number): Promise<MailRow[]> {
  return claimMails(deps.knex, { lease_id: randomUUID(), lease_seconds: leaseSeconds, limit });
}

/** One pass over what is due, sent and settled when it resolves. @returns how many mails there were. */
export async function drainMails(deps: MailDeps, limit = maxInFlight): Promise<number> {
  const mails = await claim(deps, limit);
  await Promise.all(mails.map((mail) => deliver(deps, mail)));
  return mails.length;
}

async function settled(work: Iterable<Promise<void>>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, stopWaitMs)));
  await Promise.race([Promise.all(work), patience]);
  clearTimeout(timer);
}

/**
 * Sends mail until stopped: woken at commit, else looking once a second. A slow mail holds up no other one: each runs by itself,
 * ten at a time. Stopping waits five seconds for those under way; the lease of one that takes longer lapses, and it is sent again.
 */
export function startMailLoop(deps: MailDeps): Loop {
  const inFlight = new Set<Promise<void>>();
  const loop = startLoop({
    name: 'mail',
    pauseMs,
    logger: deps.logger,
    async pass() {
      const free = maxInFlight - inFlight.size;
      if (free === 0) return false;
      const mails = await claim(deps, free);
      for (const mail of mails) {
        const sending = deliver(deps, mail)
          .catch((error: unknown) => deps.logger.warn({ mail_id: mail.id, err: error }, 'mail.unsettled'))
          .finally(() => {
            inFlight.delete(sending);
            loop.wake();
          });
        inFlight.add(sending);
      }
      deps.metrics.outboxAge.set({ queue: 'mail' }, await oldestDueMailSeconds(deps.knex));
      return mails.length === free && inFlight.size < maxInFlight;
    },
  });
  return {
    wake: () => loop.wake(),
    async stop() {
      await loop.stop();
      await settled(inFlight);
    },
  };
}
