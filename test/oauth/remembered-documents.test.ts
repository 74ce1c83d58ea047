// Discovery and the JWKS are answered before the app is asked: as the app would answer them, and only when nothing has to be looked up.
import { request, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { updateEnvironment } from '../../src/db/tables/environments.js';
import { transaction } from '../../src/domain/context.js';
import { createForwardedNotes } from '../../src/domain/notes/forwarded.js';
import { createServer } from '../../src/http/server.js';
import { rememberedDocuments } from '../../src/oauth/remembered-documents.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string };

const ask = (url: string, headers: Record<string, string> | string[] = {}, method = 'GET') =>
  new Promise<Answer>((resolve, reject) => {
    const sent = request(url, { method, headers }, (res) => {
      let body = '';
      res.on('data', (chunk: Buffer) => (body += chunk.toString()));
      res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body }));
    });
    sent.on('error', reject);
    sent.end();
  });

/** By the clock of the test, which decides when the next headers are noted. */
let at = 0;
const forwarded = createForwardedNotes(() => at);
const noteHeaders = () => forwarded.note({ host: null, proto: null, peer: '127.0.0.1', trusted: false });

/** In front of an app that has nothing: 404 is what isn't answered ahead of it. */
let alone: Server;
let url: string;
beforeAll(async () => {
  const app = express();
  app.set('trust proxy', false);
  alone = createServer(app, undefined, rememberedDocuments({ ...service.deps, notes: { ...service.deps.notes, forwarded } }));
  await new Promise<void>((resolve) => alone.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(alone.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => alone.close(resolve)));

const paths = ['/.well-known/jwks.json', '/.well-known/openid-configuration', '/api/.well-known/oauth-authorization-server'];
const here = () => ({ Host: new URL(service.url).host });

beforeEach(noteHeaders);

/** Asks what stands before the app, until the document is remembered and the process has looked for changes lately, which a busy machine delays. */
async function askAhead(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  let answer: Answer | null = null;
  await expect
    .poll(
      async () => {
        await ask(`${service.url}${path}`);
        answer = await ask(`${url}${path}`, { ...here(), ...headers }, method);
        return answer.status;
      },
      { interval: 20 },
    )
    .not.toBe(404);
  return answer as unknown as Answer;
}

const comparable = ({ status, headers, body }: Answer) => {
  const { date: _date, 'x-request-id': _id, 'keep-alive': _time, ...others } = headers;
  return { status, headers: others, body };
};

test.each(paths)('%s is answered as the app would, by GET and HEAD and to whoever has it', async (path) => {
  for (const method of ['GET', 'HEAD']) {
    const [ahead, app] = [await askAhead(path, {}, method), await ask(`${service.url}${path}?app`, {}, method)];
    expect(ahead.status).toBe(200);
    expect(comparable(ahead)).toEqual(comparable(app));
    expect(ahead.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  }
  const etag = (await askAhead(path)).headers.etag as string;
  for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const condition = { 'If-None-Match': tag };
    const [ahead, app] = [await askAhead(path, condition), await ask(`${service.url}${path}?app`, condition)];
    expect([ahead.status, ahead.body, ahead.headers.etag]).toEqual([304, '', etag]);
    expect(comparable(ahead)).toEqual(comparable(app));
  }
  for (const tag of ['"other"', 'other*', '"other", *']) expect((await askAhead(path, { 'If-None-Match': tag })).status).toBe(200);
});

test('the entity tag follows from what is told (specification 5.10.4)', async () => {
  const path = `${service.url}/.well-known/openid-configuration`;
  const before = await ask(path);
  await transaction(ctx, (tx) => updateEnvironment(tx.scope, ctx.environment.id, { require_pushed_authorization_requests: true }));
  const after = await ask(path, { 'If-None-Match': before.headers.etag as string });
  expect([after.status, JSON.parse(after.body)]).toMatchObject([200, { require_pushed_authorization_requests: true }]);
  expect(after.headers.etag).not.toBe(before.headers.etag);
});

test('it has its line and its count, and the id that the caller gave it', async () => {
  const id = `caller-${Date.now()}`;
  expect((await askAhead(paths[0] as string, { 'X-Request-Id': id })).headers['x-request-id']).toBe(id);
  await expect.poll(() => service.log.filter((line) => line.includes(id))).toHaveLength(1);
  const line = JSON.parse(service.log.find((one) => one.includes(id)) as string) as object;
  expect(line).toMatchObject({ event: 'http.request', method: 'GET', path: paths[0], status: 200, ip: '127.0.0.1' });
  expect(await service.deps.metrics.render()).toMatch(
    /http_request_duration_seconds_count\{method="GET",route="\/\.well-known\/jwks\.json",status="2xx"\} [1-9]/,
  );
});

test('all else is left to the app: what is not remembered, other methods, a query, two hosts, and once a second a look at the headers', async () => {
  const path = paths[0] as string;
  const statusOf = async (target: string, method = 'GET') => (await ask(`${url}${target}`, here(), method)).status;
  expect((await askAhead(path)).status).toBe(200);
  expect([await statusOf(path, 'POST'), await statusOf(`${path}?x`), await statusOf(`${path}/`)]).toEqual([404, 404, 404]);
  const { host } = new URL(service.url);
  expect((await ask(`${url}${path}`, ['Host', host, 'host', host])).status).toBe(404);
  expect((await ask(`${service.url}${path}`, ['Host', host, 'host', host])).status).toBe(400);
  ctx.cache.invalidate(ctx.environment.id, 'signing_keys');
  expect(await statusOf(path)).toBe(404);
  expect((await askAhead(path)).status).toBe(200);
  at += 1000;
  expect(await statusOf(path)).toBe(404);
  noteHeaders();
  expect((await askAhead(path)).status).toBe(200);
});
