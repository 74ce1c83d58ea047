import type { ClientRateLimitInfo, Options } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';
import { createClient } from '@redis/client';
import { UnavailableError } from '../../errors.js';
import { keyDigest, windowCountOf, type ProofUses, type RateLimitStore } from './rate-limit-stores.js';

/** Milliseconds to wait for a connection, or for a reply, before the request is refused with 503. */
const timeoutMs = 3000;
/** Commands that may wait for a reply. One that is late goes on waiting when its request is refused, until the connection ends. */
const maxWaiting = 10_000;
const retryAfterSeconds = 5;

/** Waits no longer: the client's own time-out is about commands that aren't sent yet, not about replies. */
function inTime<T>(reply: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis has not answered within ${timeoutMs} ms`)), timeoutMs);
  });
  return Promise.race([reply, late]).finally(() => clearTimeout(timer));
}

/**
 * Counts in Redis (`RATE_LIMIT_STORE=redis`), in one store of rate-limit-redis for each length of window, and keeps there what may happen once. The connection is
 * made in the background and made again when it is lost; while there is none every call fails at once. `onError` is called with connection errors, for the log.
 * @throws {UnavailableError} from each call that Redis does not answer in time
 */
export function createRedisStore({
  url,
  onError,
}: {
  readonly url: string;
  readonly onError: (error: Error) => void;
}): RateLimitStore & ProofUses {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: maxWaiting,
    socket: { connectTimeout: timeoutMs, reconnectStrategy: (tries) => Math.min(2000, 50 * 2 ** Math.min(tries, 6)) },
  });
  client.on('error', onError);
  const connected = client.connect().catch(onError);
  let first: Promise<unknown> | null = connected;

  async function ask<T>(question: () => Promise<T>): Promise<T> {
    if (first) await inTime(first).catch(onError);
    first = null;
    return inTime(question()).catch((error: unknown) => {
      throw new UnavailableError(retryAfterSeconds, error);
    });
  }

  const stores = new Map<number, Promise<RedisStore>>();
  /** The store of a length of window, once Redis has its scripts. */
  function storeOf(windowSeconds: number): Promise<RedisStore> {
    const opened = stores.get(windowSeconds);
    if (opened) return opened;
    const store = new RedisStore({ prefix: 'rate_limit:', sendCommand: (...args) => client.sendCommand(args) });
    const opening = store.init({ windowMs: windowSeconds * 1000 } as Options).then(() => store);
    stores.set(windowSeconds, opening);
    return opening;
  }

  /** A store that failed is forgotten, and its scripts are loaded again: it keeps the failure of loading them, also of loading them once more. */
  async function count(key: string, windowSeconds: number): Promise<ClientRateLimitInfo> {
    const opened = storeOf(windowSeconds);
    try {
      return await (await opened).increment(key);
    } catch (error) {
      if (stores.get(windowSeconds) === opened) stores.delete(windowSeconds);
      throw error;
    }
  }

  return {
    increment: (key, { windowSeconds }) => ask(async () => windowCountOf(await count(keyDigest(key).toString('hex'), windowSeconds))),
    async once(key, ms) {
      const name = Buffer.concat([Buffer.from('dpop_proof:'), key]);
      const expiration = { type: 'PX', value: Math.max(1, Math.ceil(ms)) } as const;
      return (await ask(() => client.set(name, '', { condition: 'NX', expiration }))) !== null;
    },
    close: async () => {
      if (client.isOpen) client.destroy();
      await connected;
    },
  };
}
