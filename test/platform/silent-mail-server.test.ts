import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createMailer, isPermanentMailError } from '../../src/platform/mailer.js';

test('a silent mail server is given up after ten seconds, for now', { timeout: 20_000 }, async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const mailer = createMailer({ smtpUrl: `smtp://127.0.0.1:${port}`, emailFrom: 'no-reply@example.com' });
  try {
    const started = performance.now();
    const error: unknown = await mailer
      .send({ to: 'ada@example.com', subject: 'Hi', text: 'Hi', html: '<p>Hi</p>' })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Error);
    expect(isPermanentMailError(error)).toBe(false);
    expect(performance.now() - started).toBeLessThan(15_000);
  } finally {
    await mailer.close();
    for (const socket of sockets) socket.destroy();
    silent.close();
  }
});
