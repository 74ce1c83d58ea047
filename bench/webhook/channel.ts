import { Pool, type Dispatcher } from 'undici';
import { deliveryHeaders } from '../../src/domain/webhooks/sign.js';
import type { Courier, Destination, Message } from './courier.js';

/** In flight at once: more gains nothing on loopback. */
export const inFlight = 64;

/** What the bench set this process up with. */
// oxlint-disable-next-line node/no-process-env -- a worker of the bench has no other configuration
export const settings = {
  databaseUrl: process.env['DATABASE_URL'] ?? '',
  destinations: JSON.parse(process.env['DESTINATIONS'] ?? '[]') as Destination[],
};

const pools = new Map<string, Dispatcher>();

/** The same signed bytes over the same client as the service uses, and nothing else: no record, no guard, no limit of time. */
export async function post(message: Message): Promise<void> {
  const { url, secret } = settings.destinations[message.destination] as Destination;
  const { origin, pathname } = new URL(url);
  let pool = pools.get(origin);
  if (!pool) pools.set(origin, (pool = new Pool(origin, { connections: inFlight, pipelining: 1 })));
  const { event_id: id, event_type, body } = message;
  const headers = deliveryHeaders(secret, null, event_type, { id, timestamp: Math.floor(Date.now() / 1000), body });
  const answer = await pool.request({ path: pathname, method: 'POST', headers, body });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`the receiver answered ${answer.statusCode}`);
}

/** Answers the bench's commands; the first message says that the worker is ready. */
export function serve(courier: Pick<Courier, 'load' | 'go' | 'isDone' | 'stop'>): void {
  const answer = async ({ command, messages }: { command: string; messages?: Message[] }): Promise<unknown> => {
    if (command === 'load') return courier.load(messages ?? []);
    if (command === 'go') return courier.go();
    return courier.isDone();
  };
  process.on('message', (asked: { command: string; messages?: Message[] }) => {
    answer(asked).then(
      (result) => process.send?.(result ?? null),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.once('SIGTERM', () => void courier.stop().finally(() => process.exit(0)));
  process.send?.('ready');
}
