import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** One POST as it came over the wire. */
export type ReceivedPost = {
  readonly at: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly event_id: string;
};

/** What to answer; a number is a status with an empty body. */
export type Reply = number | ((post: ReceivedPost, res: ServerResponse, req: IncomingMessage) => unknown);

/** A webhook receiver, on loopback unless told otherwise, that keeps what it gets. */
export type Receiver = {
  readonly url: string;
  readonly posts: ReceivedPost[];
  /** Changes the answer to what comes from now on. */
  reply(with_: Reply): void;
  /** Resolves once the condition holds (looked at after every post); rejects after `withinMs`. */
  until(condition: (posts: readonly ReceivedPost[]) => boolean, withinMs?: number): Promise<void>;
  /** Resolves after `count` posts (of the path, when given). */
  received(count: number, withinMs?: number): Promise<readonly ReceivedPost[]>;
  close(): Promise<void>;
};

async function read(req: IncomingMessage): Promise<ReceivedPost> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString('utf8');
  const event_id = String(req.headers['webhook-id'] ?? '');
  return { at: performance.now(), path: req.url ?? '', headers: req.headers, rawHeaders: req.rawHeaders, body, event_id };
}

export async function startReceiver(reply: Reply = 200, host = '127.0.0.1'): Promise<Receiver> {
  let answer = reply;
  const posts: ReceivedPost[] = [];
  const waiting = new Set<() => void>();
  const sockets = new Set<Socket>();
  const server = createServer((req, res) => {
    void read(req).then(
      (post) => {
        posts.push(post);
        if (typeof answer === 'number') res.writeHead(answer).end();
        else void answer(post, res, req);
        for (const look of waiting) look();
      },
      () => undefined,
    );
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(0, host);
  await once(server, 'listening');
  const until = (condition: (posts: readonly ReceivedPost[]) => boolean, withinMs = 30_000) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(look);
        reject(new Error(`not within ${withinMs} ms; ${posts.length} posts came`));
      }, withinMs);
      const look = () => {
        if (!condition(posts)) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    posts,
    reply(with_) {
      answer = with_;
    },
    until,
    async received(count, withinMs) {
      await until((all) => all.length >= count, withinMs);
      return posts;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
