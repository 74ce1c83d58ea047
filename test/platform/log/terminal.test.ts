import { expect, test } from 'vitest';
import { createTerminalLines } from '../../../src/platform/log/terminal.js';

const at = new Date(2026, 0, 2, 3, 4, 5).getTime();
const lineOf = (members: object, isColored = false) =>
  createTerminalLines(isColored)(`${JSON.stringify({ level: 30, time: at, ...members })}\n`);
const request = { event: 'http.request', request_id: 'r-1', method: 'GET', path: '/login', status: 200, ms: 31.4, msg: 'request answered' };

test('a request is one line; a refused one names its id, by which its trace is found (specification 1.2.6)', () => {
  expect(lineOf(request)).toBe('03:04:05  200  GET /login  31 ms\n');
  expect(lineOf({ ...request, status: 404 })).toBe('03:04:05  404  GET /login  31 ms  r-1\n');
  expect(lineOf({ ...request, aborted: true })).toBe('03:04:05  200  GET /login  client gone\n');
  expect(lineOf({ ...request, status: 500 }, true)).toContain('\u001b[31m500\u001b[39m');
});

test('everything else is one line with its level, and the stack of an error below it', () => {
  expect(lineOf({ event: 'mail.captured', to: 'ada', about: { id: 1 }, ip: null, msg: 'a mail was captured' })).toBe(
    '03:04:05  a mail was captured  mail.captured to=ada about={"id":1}\n',
  );
  expect(lineOf({ level: 50, event: 'request.failed', err: { stack: 'Error: no\n    at one' }, msg: 'failed' })).toBe(
    '03:04:05  error  failed  request.failed\n    Error: no\n        at one\n',
  );
  expect(lineOf({ event: 'secret_key.in_use', msg: 'sealing' })).toBe('');
});

test('what somebody has sent moves no cursor, sets no colour and begins no line', () => {
  expect(lineOf({ ...request, path: '/\u001b[2J\n\u009b\u202e' })).toBe('03:04:05  200  GET /\\u{1b}[2J\\u{a}\\u{9b}\\u{202e}  31 ms\n');
  expect(lineOf({ event: 'sso.refused', detail: 'a\r\nb', msg: 'x\ny' })).toBe('03:04:05  x\\u{a}y  sso.refused detail=a\\u{d}\\u{a}b\n');
});
