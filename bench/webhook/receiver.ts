import { createServer, type AddressInfo, type Socket } from 'node:net';
import { serviceSignature } from '../../src/domain/webhooks/sign.js';

const headEnd = Buffer.from('\r\n\r\n');
const answer = Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok');
/** Of so many posts one has its signature checked: all of them would make the receiver the slower side. */
const checkEvery = 50;

/** A receiver that costs next to nothing, so that the side that sends is what is measured. */
export type BenchReceiver = {
  readonly port: number;
  /** Counts from zero; `secretOf` tells the secret of a path. Resolves when `count` different events have come, rejects for a wrong post. */
  expect(count: number, secretOf: (path: string) => string): Promise<void>;
  /** Ends the round that is under way with an error. */
  giveUp(why: string): void;
  close(): Promise<void>;
};

type Round = {
  seen: Set<string>;
  posts: number;
  count: number;
  secretOf: (path: string) => string;
  done: () => void;
  failed: (error: Error) => void;
};

function check(round: Round, head: string, body: Buffer): void {
  const event_id = /"event_id":"([0-9a-f-]{36})"/.exec(body.toString('latin1', 0, 120))?.[1];
  if (!head.startsWith('POST /') || event_id === undefined) throw new Error(`not a delivery: ${head.slice(0, 80)}`);
  if (round.seen.has(event_id)) throw new Error(`${event_id} came twice`);
  round.seen.add(event_id);
  if (round.posts++ % checkEvery !== 0) return;
  const given = /\r\nx-service-signature: (\S+)/i.exec(head)?.[1];
  const path = head.slice(5, head.indexOf(' ', 5));
  if (given !== serviceSignature(round.secretOf(path), body.toString('utf8'))) throw new Error(`a signature for ${path} is wrong`);
}

/** Listens on loopback and answers every POST with 200. */
export async function startBenchReceiver(): Promise<BenchReceiver> {
  let round: Round | null = null;
  const sockets = new Set<Socket>();
  const received = (head: string, body: Buffer) => {
    if (!round) return;
    try {
      check(round, head, body);
      if (round.seen.size === round.count) round.done();
    } catch (error) {
      round.failed(error as Error);
    }
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    let buffer: Buffer = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => {
      buffer = buffer.length === 0 ? data : Buffer.concat([buffer, data]);
      const end = buffer.indexOf(headEnd);
      if (end < 0) return;
      const head = buffer.toString('latin1', 0, end);
      const whole = end + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (buffer.length < whole) return;
      const body = buffer.subarray(end + 4, whole);
      buffer = buffer.subarray(whole);
      socket.write(answer);
      received(head, body);
    });
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    expect: (count, secretOf) =>
      new Promise<void>((done, failed) => {
        round = { seen: new Set(), posts: 0, count, secretOf, done, failed };
      }),
    giveUp: (why) => round?.failed(new Error(`${why}; ${round.seen.size} came`)),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
