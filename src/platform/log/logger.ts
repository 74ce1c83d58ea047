import { pino, type DestinationStream, type Logger as Pino } from 'pino';
import type { Config } from '../../config.js';
import type { LineEvent } from '../../lib/log-events.js';
import { spans } from '../spans/tracer.js';

/** A line's members: `event` is what programs look for, the others say about what; never a secret, code, token or password. */
export type Line = { readonly event: LineEvent } & Readonly<Record<string, unknown>>;

/** Writes a line; `msg` is for people, and may change. */
type Write = (line: Line, msg: string) => void;

/** The log. No line is without an `event` of the closed list (`lib/log-events.ts`, `lib/security-events.ts`). */
export type Logger = {
  /** From which level on lines are written; one of pino's. */
  level: string;
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
  readonly fatal: Write;
};

/** Property names whose values are replaced in every log record, in case a secret is logged by mistake. */
const secrets = new Set([
  'password',
  'code',
  'token',
  'access_token',
  'refresh_token',
  'client_secret',
  'signing_secret',
  'authorization',
  'cookie',
]);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Error);

/**
 * The record with what secret names hold replaced, at its top and one level below. Done by hand: pino's own `redact` copies every
 * record, which cost a tenth of a short request.
 */
function censored(record: Record<string, unknown>, depth = 0): Record<string, unknown> {
  let copy: Record<string, unknown> | null = null;
  for (const name in record) {
    const value = record[name];
    let shown: unknown = value;
    if (secrets.has(name)) shown = '[redacted]';
    else if (depth === 0 && isRecord(value)) shown = censored(value, 1);
    if (shown !== value) (copy ??= { ...record })[name] = shown;
  }
  return copy ?? record;
}

/** The record with the trace that the present work belongs to, where there is one. */
export function traced(record: Record<string, unknown>): Record<string, unknown> {
  const trace_id = spans.tracer === null ? null : spans.tracer.traceId();
  return trace_id === null || record['trace_id'] !== undefined ? record : { ...record, trace_id };
}

/** Lines are written together, at the latest after so many milliseconds and at about so many bytes. */
const flushMs = 100;
const batchBytes = 12_288;

/**
 * Workers share their output: there no write is longer than 4096 bytes (PIPE_BUF), up to which POSIX keeps writes to a pipe whole, so
 * that the lines of several don't run into each other.
 */
const shared = { minLength: 3072, maxWrite: 4096, periodicFlush: flushMs };

/**
 * Collects lines into one text per write. pino's destination could, but measures and appends each line by itself, which takes longer
 * than making it. What is left is written when the process ends.
 */
function collected(): DestinationStream {
  let held = '';
  let timer: NodeJS.Timeout | null = null;
  const flush = () => {
    if (timer) clearTimeout(timer);
    timer = null;
    if (held !== '') stream.write(held);
    held = '';
  };
  // Before the listener of all destinations, which writes what they were given: it may be there already, by another log.
  process.prependOnceListener('exit', flush);
  const stream = pino.destination({ sync: false });
  return {
    write(line) {
      held += line;
      if (held.length >= batchBytes) flush();
      else timer ??= setTimeout(flush, flushMs).unref();
    },
  };
}

/** A log that nobody reads, for what is looked at in passing. */
export const silentLogger: Logger = pino({ level: 'silent' });

/** The log of one process: JSON lines, or readable ones on a terminal. */
export function createLogger(config: Pick<Config, 'logLevel' | 'logFormat' | 'webConcurrency'>): Pino {
  const options = {
    level: config.logLevel,
    base: null,
    formatters: { log: (record: Record<string, unknown>) => traced(censored(record)) },
  };
  if (config.logFormat === 'pretty') {
    return pino({ ...options, transport: { target: 'pino-pretty', options: { translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' } } });
  }
  return pino(options, config.webConcurrency > 1 ? pino.destination({ sync: false, ...shared }) : collected());
}
