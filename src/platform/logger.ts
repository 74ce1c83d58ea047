import { pino, type Logger } from 'pino';
import type { Config } from '../config.js';

/** Names under which a secret could be logged by mistake; their values are replaced. */
const secrets = [
  'password',
  'code',
  'token',
  'access_token',
  'refresh_token',
  'client_secret',
  'signing_secret',
  'authorization',
  'cookie',
];

/** The log of one process: JSON lines, or readable ones on a terminal. */
export function createLogger(config: Pick<Config, 'logLevel' | 'logFormat'>): Logger {
  const options = {
    level: config.logLevel,
    base: null,
    redact: { paths: secrets.flatMap((name) => [name, `*.${name}`]), censor: '[redacted]' },
  };
  if (config.logFormat === 'pretty') {
    return pino({ ...options, transport: { target: 'pino-pretty', options: { translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' } } });
  }
  return pino(options, pino.destination({ sync: false, minLength: 0 }));
}

export type { Logger };
