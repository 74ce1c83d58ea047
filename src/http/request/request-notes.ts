import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../../config.js';
import { maskedUri } from '../../domain/request-traces/shown-text.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log/logger.js';
import { createRequestLog } from '../../platform/log/request-log.js';
import type { Metrics } from '../../platform/metrics/metrics.js';

/** Headers of every answer, names and values in turn. */
export const commonHeaders = ({ secureCookies: overTls }: Pick<Config, 'secureCookies'>): readonly string[] => [
  'X-Content-Type-Options',
  'nosniff',
  // Browsers never ask this host over plain http again (RFC 6797). Names below it may belong to others.
  ...(overTls ? ['Strict-Transport-Security', 'max-age=31536000'] : []),
];

/** What is told of a request beside what it and its answer say themselves. */
export type RequestNote = {
  readonly request_id: string;
  /** The target as it came. */
  readonly url: string;
  readonly ip: string | undefined;
  /** The pattern that the path fits; `none` without one. */
  readonly route: string;
  /** When its head was read, by `performance.now`. */
  readonly started: number;
  /** Of a request that spans are sent of. */
  readonly trace_id?: string | undefined;
};

const statusClasses = ['', '1xx', '2xx', '3xx', '4xx', '5xx'];

/**
 * Counts an answered request and writes its line. The path is logged without its query, where codes and handles travel, and without what looks like a
 * secret, which somebody put into the wrong place; a path that is a pattern of ours holds nothing that came.
 */
export function createRequestNotes({ logger, clock, metrics }: { logger: Logger; clock: Clock; metrics: Metrics }) {
  const log = createRequestLog(logger);
  return (req: IncomingMessage, res: ServerResponse, { request_id, url, ip, route, started, trace_id }: RequestNote): void => {
    const ms = performance.now() - started;
    const { statusCode: status, writableFinished: finished } = res;
    const method = req.method as string;
    metrics.requestSeconds.record(ms / 1000, method, route, statusClasses[Math.floor(status / 100)] ?? '');
    const query = url.indexOf('?');
    const target = query < 0 ? url : url.slice(0, query);
    const path = target === route ? target : maskedUri(target);
    log({ at: clock.now().getTime(), request_id, method, path, status, ms, ip, finished }, trace_id);
  };
}
