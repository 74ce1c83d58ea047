import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import type { Logger } from '../../platform/log/logger.js';
import type { Config } from '../../config.js';
import type { Clock } from '../../platform/clock.js';
import type { Metrics } from '../../platform/metrics/metrics.js';
import { uuidv7 } from '../../lib/random.js';
import { hasHeader } from './headers.js';
import { commonHeaders, createRequestNotes } from './request-notes.js';

const safe = /^[\w.:-]{1,128}$/;

/** The caller's X-Request-Id when it is 1 to 128 safe characters, else a new one, made at `now` (Unix milliseconds). */
export function requestIdOf(req: IncomingMessage, now: number): string {
  const sent = hasHeader(req, 'x-request-id') ? req.headers['x-request-id'] : undefined;
  return typeof sent === 'string' && safe.test(sent) ? sent : uuidv7(now);
}

/** Gives every request its id, counts and logs it when it has been answered, and puts the headers on it that every answer has. */
export function requestId(deps: { logger: Logger; clock: Clock; metrics: Metrics; config: Pick<Config, 'secureCookies'> }) {
  const { clock } = deps;
  const note = createRequestNotes(deps);
  const headers = commonHeaders(deps.config);

  return (req: Request, res: Response, next: NextFunction) => {
    const id = requestIdOf(req, clock.now().getTime());
    req.request_id = id;
    res.setHeader('X-Request-Id', id);
    for (let i = 0; i < headers.length; i += 2) res.setHeader(headers[i] as string, headers[i + 1] as string);
    const started = performance.now();
    res.on('close', () => {
      const route = (req.route as { path?: string } | undefined)?.path ?? 'none';
      note(req, res, { request_id: id, url: req.originalUrl, ip: req.ip, route, started, trace_id: req.trace_id });
    });
    next();
  };
}
