import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import type { Logger } from '../../platform/log/logger.js';
import type { Config } from '../../config.js';
import type { Clock } from '../../platform/clock.js';
import type { Metrics } from '../../platform/metrics/metrics.js';
import { createRequestLog } from '../../platform/log/request-log.js';
import { uuidv7 } from '../../lib/random.js';

const safe = /^[\w.:-]{1,128}$/;

/** The caller's X-Request-Id when it is 1 to 128 safe characters, else a new one, made at `now` (Unix milliseconds). */
export function requestIdOf({ headers }: IncomingMessage, now: number): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && safe.test(sent) ? sent : uuidv7(now);
}

const statusClasses = ['', '1xx', '2xx', '3xx', '4xx', '5xx'];

/**
 * Gives every request its id and writes one log line when it has
 * been answered; puts the headers on it that every answer has. The path is logged without its query: codes and handles travel there.
 */
export function requestId(deps: { logger: Logger; clock: Clock; metrics: Metrics; config: Pick<Config, 'secureCookies'> }) {
  const { logger, clock, metrics } = deps;
  const { secureCookies: overTls } = deps.config;
  const log = createRequestLog(logger);

  function note(req: Request, res: Response, started: number): void {
    const ms = performance.now() - started;
    const route = (req.route as { path?: string } | undefined)?.path ?? 'none';
    const { statusCode: status, writableFinished: finished } = res;
    const { request_id, method, originalUrl: url, ip } = req;
    metrics.requestSeconds.record(ms / 1000, method, route, statusClasses[Math.floor(status / 100)] ?? '');
    const query = url.indexOf('?');
    log(
      { at: clock.now().getTime(), request_id, method, path: query < 0 ? url : url.slice(0, query), status, ms, ip, finished },
      req.trace_id,
    );
  }

  return (req: Request, res: Response, next: NextFunction) => {
    const id = requestIdOf(req, clock.now().getTime());
    req.request_id = id;
    res.setHeader('X-Request-Id', id);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    // Browsers never ask this host over plain http again (RFC 6797). Names below it may belong to others.
    if (overTls) res.setHeader('Strict-Transport-Security', 'max-age=31536000');
    const started = performance.now();
    res.on('close', () => note(req, res, started));
    next();
  };
}
