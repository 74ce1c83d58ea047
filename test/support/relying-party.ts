import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that reached the relying party. */
export type Arrived = {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
};

/** A listening relying party: records what comes, and answers as told. */
export type RelyingParty = {
  readonly origin: string;
  readonly arrived: Arrived[];
  /** What the next requests are answered with; default 200 and an empty body. */
  answer: (request: Arrived) => { status?: number; headers?: Record<string, string>; body?: string };
  /** Resolves with the first request, past or future, that fits. */
  next(fits: (request: Arrived) => boolean): Promise<Arrived>;
  close(): Promise<void>;
};

/** Listens on loopback. */
export async function startRelyingParty(): Promise<RelyingParty> {
  const arrived: Arrived[] = [];
  const waiting = new Set<() => void>();
  const party: { answer: RelyingParty['answer'] } = { answer: () => ({}) };
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const request = { method: req.method ?? '', path: req.url ?? '', headers: req.headers, body: Buffer.concat(chunks).toString() };
      arrived.push(request);
      const { status = 200, headers = {}, body = '' } = party.answer(request);
      res.writeHead(status, headers).end(body);
      for (const look of waiting) look();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(party, {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived,
    next: (fits: (request: Arrived) => boolean) =>
      new Promise<Arrived>((resolve) => {
        const look = () => {
          const found = arrived.find(fits);
          if (!found) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}
