import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createExactRoutes, inSequence } from '../../src/http/exact-routes.js';

const routes = createExactRoutes();
const seen: string[] = [];
routes.add('/token', {
  post: [
    (_req, _res, next) => {
      seen.push('first');
      next();
    },
    (_req, res) => void res.end('token'),
  ],
});
routes.add('/throws', { get: [() => { throw new Error('thrown'); }, () => void seen.push('after')] }); // prettier-ignore
routes.add('/rejects', { get: [() => Promise.reject(new Error('rejected'))] as never });
const app = express();
app.use(inSequence([(_req, _res, next) => next(), routes.handler]));
app.use((_req, res) => void res.status(404).end('nothing here'));
app.use((error: Error & { allow?: string }, _req: Request, res: Response, _next: NextFunction) => {
  res.status(error.allow === undefined ? 500 : 405).end(error.allow ?? error.message);
});
let port: number;
const server = app.listen(0, '127.0.0.1');
beforeAll(async () => {
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const ask = (method: string, path: string) =>
  new Promise<string>((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method, path }, (res) => {
      let body = '';
      res.on('data', (chunk: Buffer) => (body += chunk.toString()));
      res.on('end', () => resolve(`${res.statusCode} ${body}`));
    });
    sent.on('error', reject).end();
  });

test.each([
  ['POST', '/token', '200 token'],
  ['POST', '/token?a=b', '200 token'],
  ['POST', '/token/', '200 token'],
  ['POST', 'http://other.example/token', '200 token'],
  ['GET', '/token', '405 POST'],
  ['POST', '/Token', '404 nothing here'],
  ['POST', '/token/x', '404 nothing here'],
  ['POST', '/__proto__', '404 nothing here'],
  ['GET', '/throws', '500 thrown'],
  ['GET', '/rejects', '500 rejected'],
])('%s %s: %s', async (method, path, answer) => {
  expect(await ask(method, path)).toBe(answer);
  expect(seen).not.toContain('after');
});
