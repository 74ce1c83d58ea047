import type { NextFunction, Request, Response } from 'express';
import type { Logger } from 'pino';
import type { Clock } from '../platform/clock.js';
import type { Metrics } from '../platform/metrics.js';
import { uuidv7 } from '../lib/random.js';

const safe = /^[\w.:-]{1,128}$/;

/**
 * Gives every request its id (the caller's X-Request-Id when it is 1 to 128 safe characters) and writes one log line when it has
 * been answered. The path is logged without its query: codes and handles travel there.
 */
export function requestId(deps: { logger: Logger; clock: Clock; metrics: Metrics }) {
  const { logger, clock, metrics } = deps;
  return (req: Request, res: Response, next: NextFunction) => {
    const sent = req.headers['x-request-id'];
    const id = typeof sent === 'string' && safe.test(sent) ? sent : uuidv7(clock.now().getTime());
    req.request_id = id;
    res.setHeader('X-Request-Id', id);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    const started = process.hrtime.bigint();
    res.once('close', () => {
      const ms = Number(process.hrtime.bigint() - started) / 1e6;
      const route = (req.route as { path?: string } | undefined)?.path ?? 'none';
      const status = res.statusCode;
      metrics.requestSeconds.observe({ method: req.method, route, status: `${Math.floor(status / 100)}xx` }, ms / 1000);
      const level = status >= 500 ? 'error' : 'info';
      if (logger.isLevelEnabled(level)) {
        const url = req.originalUrl;
        const query = url.indexOf('?');
        logger[level](
          {
            request_id: id,
            method: req.method,
            path: query < 0 ? url : url.slice(0, query),
            status,
            ms: Math.round(ms * 10) / 10,
            ip: req.ip,
          },
          res.writableFinished ? 'request' : 'request.aborted',
        );
      }
    });
    next();
  };
}
