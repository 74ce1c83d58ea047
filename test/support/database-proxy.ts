import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A way to a database that can be made to fail as networks and servers do. */
export type DatabaseProxy = {
  readonly url: string;
  /** From now on nothing passes, and nobody is told: no answer, no reset. */
  swallow(): void;
  /** From now on what is sent arrives, and no answer comes back. */
  swallowAnswers(): void;
  pass(): void;
  /** From now on nothing passes on the connections that are open, as when a firewall has forgotten them; new ones are as ever. */
  forget(): void;
  /** Ends all connections, and refuses new ones until `accept`. */
  refuse(): void;
  accept(): void;
  close(): void;
};

/** Starts it in front of the database of the address. */
export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const { hostname, port } = target;
  const sockets = new Set<Socket>();
  let swallowed: 'nothing' | 'answers' | 'all' = 'nothing';
  let refusing = false;
  let forgotten = new WeakSet<Socket>();
  const join = (from: Socket, to: Socket, isAnswer: boolean) => {
    sockets.add(from);
    from.on('data', (chunk) => {
      if (!forgotten.has(from) && (swallowed === 'nothing' || (swallowed === 'answers' && !isAnswer))) to.write(chunk);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  };
  const server = createServer((inbound) => {
    if (refusing) return void inbound.destroy();
    const outbound = connect(Number(port), hostname);
    join(inbound, outbound, false);
    join(outbound, inbound, true);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  target.port = String((server.address() as { port: number }).port);
  target.hostname = '127.0.0.1';
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: target.href,
    swallow: () => void (swallowed = 'all'),
    swallowAnswers: () => void (swallowed = 'answers'),
    pass: () => void (swallowed = 'nothing'),
    forget: () => void (forgotten = new WeakSet(sockets)),
    refuse() {
      refusing = true;
      cut();
    },
    accept: () => void (refusing = false),
    close() {
      server.close();
      cut();
    },
  };
}
