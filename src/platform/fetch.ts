import { Agent, request as undiciRequest } from 'undici';
import { checkUrl, type NetworkPolicy } from './address-guard.js';
import { guardedConnector } from './guarded-connector.js';
import { createNameLookup, type NameLookup } from './name-lookup.js';
import { asOutboundError, OutboundError } from './outbound-error.js';

export { checkUrl } from './address-guard.js';
export { OutboundError, type OutboundReason } from './outbound-error.js';

export type OutboundRequest = {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | null;
  /** For the whole exchange: name, connection, headers, body. Default 10 s. */
  readonly timeoutMs?: number;
  /** The body is read this far, then the connection is dropped. Default 64 KiB. */
  readonly maxResponseBytes?: number;
  /** When given, a body that isn't complete this long after its headers (or at the deadline) is cut off and not an error. */
  readonly bodyTimeoutMs?: number;
  /** Allows `http:` though private networks aren't allowed. */
  readonly allowHttp?: boolean;
  /** Connections are shared among requests of the same pool only; each pool may have as many as the default one. */
  readonly pool?: string;
  /** Ends the exchange early, with the signal's reason. */
  readonly signal?: AbortSignal;
};

/** An answer, of whatever status: redirects are answers too. */
export type OutboundResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it came over the wire: never decompressed. */
  readonly body: Buffer;
  /** True when there was more body than `maxResponseBytes`, or than came in `bodyTimeoutMs`. */
  readonly truncated: boolean;
  readonly duration_ms: number;
};

export type GuardedFetch = {
  /**
   * One request, with nothing followed, decoded or retried.
   * @throws {OutboundError} when there is no answer
   */
  request(url: string | URL, options?: OutboundRequest): Promise<OutboundResponse>;
  /** `fetch` for libraries that take one (openid-client, jose): the same guard, 5 s and 1 MiB at most, redirects returned. */
  readonly fetch: (url: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** Drops all connections. */
  close(): Promise<void>;
};

const maxPools = 1000;
const fetchTimeoutMs = 5000;
const fetchMaxResponseBytes = 1024 * 1024;
const emptyBodyStatuses = new Set([101, 103, 204, 205, 304]);

/** Reads up to `max` bytes; leaving the loop early destroys the stream, and the socket with it. */
async function readBody(body: AsyncIterable<Buffer>, max: number, cutOffInTime: boolean): Promise<{ body: Buffer; truncated: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  let late = false;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > max) break;
    }
  } catch (error) {
    late = cutOffInTime && asOutboundError(error).reason === 'timeout';
    if (!late) throw error;
  }
  return { body: Buffer.concat(chunks).subarray(0, max), truncated: late || size > max };
}

/** The time limits of one exchange, and the caller's own signal, as one signal. */
function createDeadline(timeoutMs: number, outer: AbortSignal | undefined) {
  const controller = new AbortController();
  const { signal } = controller;
  const timers: NodeJS.Timeout[] = [];
  const within = (ms: number, what: string) =>
    void timers.push(setTimeout(() => controller.abort(new OutboundError('timeout', `${what} took longer than ${ms} ms`)), ms));
  const stop = () => controller.abort(outer?.reason);
  within(timeoutMs, 'the exchange');
  if (outer?.aborted) stop();
  outer?.addEventListener('abort', stop, { once: true });
  const passed = new Promise<never>((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  passed.catch(() => {});
  return {
    signal,
    within,
    /** The work's outcome, or a rejection as soon as time is up: undici itself waits for a connection that is being made. */
    async limit<T>(work: Promise<T>): Promise<T> {
      work.catch(() => {});
      return Promise.race([work, passed]);
    },
    clear() {
      for (const timer of timers) clearTimeout(timer);
      outer?.removeEventListener('abort', stop);
    },
  };
}

/** Agents by pool name. Beyond a thousand the one least lately used is closed when its requests have ended. */
function createAgents(create: () => Agent) {
  const agents = new Map<string, Agent>();
  return {
    of(pool: string): Agent {
      const agent = agents.get(pool) ?? create();
      agents.delete(pool);
      agents.set(pool, agent);
      const [oldest] = agents;
      if (agents.size > maxPools && oldest) {
        agents.delete(oldest[0]);
        oldest[1].close().catch(() => {});
      }
      return agent;
    },
    async destroy() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
      agents.clear();
    },
  };
}

const refusals = {
  url_invalid: 'protocol',
  url_scheme: 'protocol',
  url_userinfo: 'protocol',
  url_fragment: 'protocol',
  url_port: 'blocked_address',
  url_address: 'blocked_address',
} as const;

/**
 * The only way in which the service sends requests to other hosts. It opens no socket to an address that the policy doesn't allow,
 * whatever a name resolves to and however often that changes; follows no redirect; obeys no proxy variable; checks certificates, always
 * (TLS 1.2 and later); and bounds time, header (16 KiB) and body. Connections are kept per origin: at most 16, closed when idle.
 * @param resolve in place of the system's name resolution
 * @param trustedCertificates PEM certificates of further authorities
 */
export function createGuardedFetch({
  allowPrivateNetwork,
  resolve = createNameLookup(),
  trustedCertificates = [],
}: NetworkPolicy & { readonly resolve?: NameLookup; readonly trustedCertificates?: readonly string[] }): GuardedFetch {
  const policy = { allowPrivateNetwork };
  const connect = guardedConnector(resolve, policy, trustedCertificates);
  const agents = createAgents(
    () =>
      new Agent({
        connect,
        connections: 16,
        pipelining: 1,
        keepAliveTimeout: 4000,
        keepAliveMaxTimeout: 30_000,
        maxHeaderSize: 16 * 1024,
        headersTimeout: 0,
        bodyTimeout: 0,
      }),
  );

  async function exchange(url: string | URL, options: OutboundRequest, deadline: ReturnType<typeof createDeadline>) {
    const problem = checkUrl(url, { ...policy, allowHttp: options.allowHttp === true });
    if (problem) throw new OutboundError(refusals[problem], `the URL is refused (${problem})`);
    const { method = 'GET', headers = {}, body = null, maxResponseBytes = 64 * 1024, bodyTimeoutMs } = options;
    const asked = undiciRequest(url, {
      dispatcher: agents.of(options.pool ?? ''),
      method,
      headers: { ...headers },
      body,
      signal: deadline.signal,
    });
    const answer = await deadline.limit(asked);
    if (bodyTimeoutMs !== undefined) deadline.within(bodyTimeoutMs, 'the body');
    const read = await readBody(answer.body, maxResponseBytes, bodyTimeoutMs !== undefined);
    return { status: answer.statusCode, headers: answer.headers, ...read };
  }

  async function request(url: string | URL, options: OutboundRequest = {}): Promise<OutboundResponse> {
    const started = performance.now();
    const deadline = createDeadline(options.timeoutMs ?? 10_000, options.signal);
    try {
      const answer = await exchange(url, options, deadline);
      return { ...answer, duration_ms: Math.round(performance.now() - started) };
    } catch (error) {
      options.signal?.throwIfAborted();
      throw asOutboundError(error);
    } finally {
      deadline.clear();
    }
  }

  async function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const asked = new Request(input, init);
    const sent = Buffer.from(await asked.arrayBuffer());
    const answer = await request(asked.url, {
      method: asked.method as NonNullable<OutboundRequest['method']>,
      headers: { 'accept-encoding': 'identity', ...Object.fromEntries(asked.headers) },
      body: sent.length > 0 ? sent : null,
      signal: asked.signal,
      timeoutMs: fetchTimeoutMs,
      maxResponseBytes: fetchMaxResponseBytes,
    });
    if (answer.truncated) throw new OutboundError('too_large', `the answer is longer than ${fetchMaxResponseBytes} bytes`);
    const headers = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) for (const one of [value ?? []].flat()) headers.append(name, one);
    const body = emptyBodyStatuses.has(answer.status) ? null : new Uint8Array(answer.body);
    try {
      return new Response(body, { status: answer.status, headers });
    } catch (error) {
      throw new OutboundError('protocol', 'the answer is not valid HTTP', error);
    }
  }

  return { request, fetch, close: () => agents.destroy() };
}
