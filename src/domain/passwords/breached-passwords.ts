import { createHash } from 'node:crypto';
import type { Logger } from '../../platform/log/logger.js';
import { ConfigError, type Config } from '../../config.js';
import { noDeadline, type Deadline } from '../../lib/deadline.js';
import { HashFileError, openHashFile, type HashFile } from '../../platform/breached-passwords/hash-file.js';
import { createRangeClient, rangeTimeoutMs, type RangeClient } from '../../platform/breached-passwords/range-client.js';
import type { Clock } from '../../platform/clock.js';
import { OutboundError } from '../../platform/fetch/fetch.js';
import type { Metrics } from '../../platform/metrics/metrics.js';

/** `failed`: no source could tell; `skipped`: it wasn't asked, since it failed just now, too many others ask, or the request's time is up. */
export type BreachResult = 'clean' | 'breached' | 'failed' | 'skipped';

/** Milliseconds for which the service isn't asked after it has failed. */
const pauseMs = 30_000;
/** Milliseconds that a caller waits: a little more than the service has, so that the service's own limit decides. */
const patienceMs = rangeTimeoutMs + 250;

type Tools = { readonly clock: Clock; readonly logger: Logger; readonly metrics: Metrics };

/** Why it failed, without what was asked for. */
const reasonOf = (error: unknown) =>
  error instanceof OutboundError ? error.reason : error instanceof HashFileError ? error.problem : (error as NodeJS.ErrnoException).code;

/** Logs the first failure of a source, and that it answers again: an outage is one warning, however many set a password meanwhile. */
function createOutageLog(logger: Logger, source: 'file' | 'service') {
  let failing = false;
  return {
    failed(error: unknown): void {
      if (!failing) {
        logger.warn(
          { event: 'breached_passwords.unchecked', source, reason: reasonOf(error) },
          'new passwords are taken without asking whether they are known from data breaches',
        );
      }
      failing = true;
    },
    answered(): void {
      if (failing) logger.info({ event: 'breached_passwords.checked_again', source }, 'new passwords are checked again');
      failing = false;
    },
  };
}

/** What `work` gives, or null if it takes longer than the caller has. */
async function inTime<T>(work: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => (timer = setTimeout(resolve, ms, null)));
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function fileCheck(file: HashFile, { logger }: Tools) {
  const outage = createOutageLog(logger, 'file');
  return async (hash: string): Promise<BreachResult> => {
    try {
      const count = await file.countOf(hash);
      outage.answered();
      return count > 0 ? 'breached' : 'clean';
    } catch (error) {
      outage.failed(error);
      return 'failed';
    }
  };
}

function serviceCheck(service: RangeClient, { clock, logger }: Tools) {
  const outage = createOutageLog(logger, 'service');
  let pausedUntil = -Infinity;
  return async (hash: string, deadline: Deadline): Promise<BreachResult> => {
    if (deadline.left() <= 0 || clock.elapsed() < pausedUntil) return 'skipped';
    try {
      // The service has its own time: that of a caller who has less is no failure of the service.
      const count = await inTime(service.countOf(hash), Math.min(patienceMs, deadline.left()));
      if (count === null) return 'skipped';
      outage.answered();
      return count > 0 ? 'breached' : 'clean';
    } catch (error) {
      if (error instanceof OutboundError && error.reason === 'busy') return 'skipped';
      pausedUntil = clock.elapsed() + pauseMs;
      outage.failed(error);
      return 'failed';
    }
  };
}

/** What the configuration names. @throws {ConfigError} for a file or an address that can't be used */
function sourcesOf({ breachedPasswords: { url, file, ownUrl }, allowPrivateNetwork }: Config) {
  try {
    return {
      file: file === null ? null : openHashFile(file),
      service: url === null ? null : createRangeClient({ url, allowPrivateNetwork: ownUrl || allowPrivateNetwork }),
    };
  } catch (error) {
    if (error instanceof HashFileError) throw new ConfigError([`BREACHED_PASSWORDS_FILE ${error.problem} (${file})`]);
    if (error instanceof OutboundError) throw new ConfigError([`BREACHED_PASSWORDS_URL can not be asked: ${error.message}`]);
    throw error;
  }
}

/**
 * Tells whether a password is known from a data breach (NIST SP 800-63B-4 section 3.1.1.2): asks the file, then the service, as far as they are
 * configured. It fails open: nobody is kept from setting a password because somebody else's service is away. Neither password nor hash is logged.
 * @throws {ConfigError} for a file or an address that can't be used
 */
export function createBreachedPasswords(config: Config, tools: Tools) {
  const { file, service } = sourcesOf(config);
  const checkFile = file && fileCheck(file, tools);
  const checkService = service && serviceCheck(service, tools);

  async function findBreach(hash: string, deadline: Deadline): Promise<BreachResult> {
    const inFile = checkFile ? await checkFile(hash) : 'clean';
    if (inFile === 'breached' || !checkService) return inFile;
    const known = await checkService(hash, deadline);
    return known === 'clean' ? inFile : known;
  }

  /** Never throws; takes 1.5 s at most, less if the deadline is sooner. */
  async function lookUp(hash: string, deadline: Deadline = noDeadline): Promise<BreachResult> {
    const result = await findBreach(hash, deadline);
    tools.metrics.breachedPasswordChecks.inc({ result });
    return result;
  }

  return {
    /** Whether any list is configured. */
    asks: checkFile !== null || checkService !== null,

    /** What to look the password up by, in the form in which it is hashed. Not how passwords are stored: it is what the lists of leaked ones are made of. */
    keyOf: (password: string): string => createHash('sha1').update(password.normalize('NFC'), 'utf8').digest('hex').toUpperCase(),

    /** Whether the password of the key is known; for whoever no longer has the password. See `check`. */
    lookUp,

    /** Whether the password is known. Never throws; takes 1.5 s at most, less if the deadline is sooner. */
    async check(password: string, deadline: Deadline = noDeadline): Promise<BreachResult> {
      return this.asks ? lookUp(this.keyOf(password), deadline) : 'clean';
    },

    close: async (): Promise<void> => service?.close(),
  };
}

export type BreachedPasswords = ReturnType<typeof createBreachedPasswords>;
