import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createRequestLog, type RequestLine } from '../../../src/platform/log/request-log.js';

const answered: RequestLine = {
  at: 1_800_000_000_000,
  request_id: '0193-a.b:c_d',
  method: 'GET',
  path: '/users/"\\\u2028\u0007',
  status: 200,
  ms: 1.2345,
  ip: '::1',
  finished: true,
};

function linesOf(level: string, ...requests: RequestLine[]): Record<string, unknown>[] {
  const written: string[] = [];
  const log = createRequestLog(pino({ level, base: null }, { write: (text: string) => void written.push(text) }));
  for (const request of requests) log(request);
  expect(written.every((text) => text.indexOf('\n') === text.length - 1)).toBe(true);
  return written.map((text) => JSON.parse(text) as Record<string, unknown>);
}

test('the line is what pino would have written', () => {
  const written: string[] = [];
  const { request_id, method, path, status, ip } = answered;
  pino({ base: null }, { write: (text: string) => void written.push(text) }).info(
    { event: 'http.request', request_id, method, path, status, ms: 1.2, ip },
    'request answered',
  );
  const [line] = linesOf('info', answered);
  expect({ ...line, time: 0 }).toEqual({ ...(JSON.parse(written[0] ?? '') as object), time: 0 });
  expect(line?.['time']).toBe(answered.at);
});

test('text that somebody sends stays inside its value; an address that is no longer known is left out', () => {
  const [line] = linesOf('info', { ...answered, ip: '1","admin":"yes', path: '/a\nb' }, { ...answered });
  expect(line).toMatchObject({ ip: '1","admin":"yes', path: '/a\nb' });
  expect(line).not.toHaveProperty('admin');
  expect(linesOf('info', { ...answered, ip: undefined })[0]).not.toHaveProperty('ip');
});

test('failures of ours are errors, and what the level leaves out is not written', () => {
  const all = [answered, { ...answered, status: 404 }, { ...answered, status: 503 }, { ...answered, finished: false }];
  expect(linesOf('info', ...all).map(({ level, event, aborted }) => [level, event, aborted])).toEqual([
    [30, 'http.request', undefined],
    [30, 'http.request', undefined],
    [50, 'http.request', undefined],
    [30, 'http.request', true],
  ]);
  expect(linesOf('error', ...all).map(({ status }) => status)).toEqual([503]);
  expect(linesOf('silent', ...all)).toEqual([]);
});
