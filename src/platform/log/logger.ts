import { pino, type DestinationStream, type Logger as Pino, type LoggerOptions } from 'pino';
import type { Config } from '../../config.js';
import type { LineEvent } from '../../lib/log-events.js';
import { forTerminal } from './terminal.js';

/** A line's members: `event` is what programs look for, the others say about what; never a secret, code, token or password. */
export type LogLine = { readonly event: LineEvent } & Readonly<Record<string, unknown>>;

/** Writes a line; `msg` is for people, and may change. */
type Write = (line: LogLine, msg: string) => void;

/** Tells the trace that the present work belongs to; null for none. */
type TraceSource = { traceId(): string | null };

/** The log. No line is without an `event` of the closed list (`lib/log-events.ts`, `lib/security-events.ts`). */
export type Logger = {
  /** From which level on lines are written; one of pino's. */
  level: string;
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
  readonly fatal: Write;
  /** From now on lines bear the trace that the present work belongs to. */
  readonly traceWith?: (tracer: TraceSource) => void;
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

/** A log whose lines bear traces once there is a tracer. @param shown what of a record is written */
export function traceableLog(
  options: LoggerOptions,
  stream?: DestinationStream,
  shown = (record: Record<string, unknown>): Record<string, unknown> => record,
): Pino & Logger {
  let tracer: TraceSource | null = null;
  const log = (record: Record<string, unknown>) => {
    const written = shown(record);
    const trace_id = tracer === null ? null : tracer.traceId();
    return trace_id === null || record['trace_id'] !== undefined ? written : { ...written, trace_id };
  };
  const traceWith = (by: TraceSource): void => void (tracer = by);
  return Object.assign(pino({ ...options, base: null, formatters: { log } }, stream), { traceWith });
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
export function createLogger(config: Pick<Config, 'logLevel' | 'logFormat' | 'webConcurrency'>): Pino & Logger {
  const { logLevel: level, logFormat, webConcurrency } = config;
  if (logFormat === 'pretty') {
    // At once: what is said last by other means, such as why a start failed, comes last.
    const stream = forTerminal(pino.destination({ sync: true }), process.stdout.isTTY && process.stdout.hasColors());
    return traceableLog({ level }, stream, censored);
  }
  return traceableLog({ level }, webConcurrency > 1 ? pino.destination({ sync: false, ...shared }) : collected(), censored);
}
