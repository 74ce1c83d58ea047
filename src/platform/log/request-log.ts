import { symbols, type Logger as Pino } from 'pino';
import type { Logger } from './logger.js';

export type RequestLine = {
  /** When it was answered, in milliseconds. */
  readonly at: number;
  /** 1 to 128 letters, digits and `_ . : -`. */
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** From the request's head to the end of the answer. */
  readonly ms: number;
  readonly ip: string | undefined;
  /** False when the client closed the connection before the response was complete. */
  readonly finished: boolean;
};

/**
 * Writes the line of a request: an error from status 500 on, else information. The line is put together here: it is always the same, and pino's
 * own way (naming, checking and escaping each value of any object) takes three times as long as answering with a remembered document.
 * @param trace_id of a request that spans are sent of: 32 hexadecimal digits
 */
export function createRequestLog(logger: Logger): (line: RequestLine, trace_id?: string) => void {
  const pino = logger as unknown as Pino & { readonly [symbols.streamSym]: { write(text: string): void } };
  const stream = pino[symbols.streamSym];
  return ({ at, request_id, method, path, status, ms, ip, finished }, trace_id) => {
    const level = status >= 500 ? 'error' : 'info';
    if (!pino.isLevelEnabled(level)) return;
    stream.write(
      `{"level":${pino.levels.values[level]},"time":${at},"event":"http.request",${trace_id === undefined ? '' : `"trace_id":"${trace_id}",`}"request_id":"${request_id}","method":"${method}","path":${JSON.stringify(path)},` +
        `"status":${status},"ms":${Math.round(ms * 10) / 10},${ip === undefined ? '' : `"ip":${JSON.stringify(ip)},`}` +
        `${finished ? '"msg":"request answered"' : '"aborted":true,"msg":"the client had gone before the answer"'}}\n`,
    );
  };
}
