// What is used of Node's HTTP server and of Express beyond what they promise (docs/how-to/upgrading.md).
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../../src/http/server.js';

async function listen(app: Express): Promise<{ server: Server; port: number }> {
  const server = createServer(app).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

test('Express finds the prototypes of request and response as it would set them', async () => {
  const app = express();
  const seen: boolean[] = [];
  app.get('/', (req, res) => {
    seen.push(Object.getPrototypeOf(req) === app.request, Object.getPrototypeOf(res) === app.response);
    res.json({ ip: req.ip });
  });
  const { server, port } = await listen(app);
  // Before Express has seen them.
  server.prependListener('request', (req: IncomingMessage, res: ServerResponse) => {
    seen.push(Object.getPrototypeOf(req) === app.request, Object.getPrototypeOf(res) === app.response);
  });
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  expect(await answer.json()).toEqual({ ip: '127.0.0.1' });
  expect(seen).toEqual([true, true, true, true]);
});

test('an answer has no socket while those before it are not sent: of what is sent ahead, 32 requests are taken up, then the caller is hung up on', async () => {
  const app = express();
  let taken = 0;
  app.get('/', () => void (taken += 1));
  const { port } = await listen(app);
  const caller = connect(port, '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => void caller.destroy());
  caller.resume().write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(200));
  await new Promise((resolve) => caller.once('close', resolve));
  expect(taken).toBe(33);
});

test('ten requests sent ahead are answered in their order', async () => {
  const app = express();
  app.get('/:n', (req, res) => void setTimeout(() => res.send(`<${req.params.n}>`), 10 - Number(req.params.n)));
  const { port } = await listen(app);
  const caller = connect(port, '127.0.0.1');
  onTestFinished(() => void caller.destroy());
  let said = '';
  caller.on('data', (chunk: Buffer) => (said += chunk.toString()));
  caller.write(Array.from({ length: 10 }, (_, n) => `GET /${n} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
  await expect.poll(() => [...said.matchAll(/<(\d)>/g)].map(([, n]) => n).join('')).toBe('0123456789');
});
