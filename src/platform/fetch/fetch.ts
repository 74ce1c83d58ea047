import { checkUrl, type NetworkPolicy } from './guard.js';
import { ResponseHandler } from './response-handler.js';
import type { Connections } from './connections.js';
import { createNameLookup, type NameLookup } from './look-up.js';
import { OutboundError } from './outbound-error.js';
import { QueueGauge, type QueueState } from '../metrics/queue-state.js';
import { timed, type Tracer } from '../spans/tracer.js';
import { memo } from '../../lib/memo.js';

export { checkUrl } from './guard.js';
export { OutboundError, type OutboundReason } from './outbound-error.js';

export type OutboundRequest = {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | null;
  /** Milliseconds for all of it: look-up, connection, headers, body. Default 10 s. */
  readonly timeoutMs?: number;
  /** Bytes of the body that are read before the connection is dropped. Default 64 KiB. */
  readonly maxResponseBytes?: number;
  /** Milliseconds from the headers on after which an incomplete body is cut off (so it is at the deadline). Left out: that is an error. */
  readonly bodyTimeoutMs?: number;
  /** Allows `http:` though private networks aren't allowed. */
  readonly allowHttp?: boolean;
  /** Connections are shared among requests of the same pool only; each pool may have as many as the default one. */
  readonly pool?: string;
  /** Ends the request early, with the signal's reason. */
  readonly signal?: AbortSignal;
};

/** A response of any status; redirects aren't followed. */
export type OutboundResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it came, never decompressed. */
  readonly body: Buffer;
  /** True when there was more body than `maxResponseBytes`, or than came in `bodyTimeoutMs`. */
  readonly truncated: boolean;
  readonly duration_ms: number;
};

export type GuardedFetch = {
  /**
   * Sends one request. Nothing is followed, decoded or retried.
   * @throws {OutboundError} when there is no response; the reason of `signal` when that ends it
   */
  request(url: string | URL, options?: OutboundRequest): Promise<OutboundResponse>;
  /** `fetch` for libraries that take one (openid-client, jose): the same guard, 5 s and 1 MiB at most, redirects returned. */
  readonly fetch: (url: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /**
   * Opens a connection to where requests to the URL would go, with TLS where the URL says https, sends nothing and closes it: whether somebody listens there, and
   * may be asked. `timeoutMs` is for all of it.
   * @throws {OutboundError} when there is no connection
   */
  reach(url: string, options: { readonly timeoutMs: number; readonly allowHttp?: boolean }): Promise<void>;
  /** How many requests have no answer yet. */
  queue(): QueueState;
  close(): Promise<void>;
};

/** Requests to one host, of one pool, that may be without an answer: four for each connection. */
const maxUnanswered = 64;
const maxUrls = 1000;
const fetchTimeoutMs = 5000;
const fetchMaxResponseBytes = 1024 * 1024;
const emptyBodyStatuses = new Set([101, 103, 204, 205, 304]);

/** A bulkhead for each host and pool: a host that hangs holds at most {@link maxUnanswered} requests. */
function createHostBulkheads() {
  const counts = new Map<string, number>();
  const gauge = new QueueGauge('outbound');
  return {
    /** Sends a request. @throws {OutboundError} `busy` at once, when too many others to the same host have no answer */
    async during<T>(pool: string, origin: string, send: () => Promise<T>): Promise<T> {
      const key = `${pool} ${origin}`;
      const count = counts.get(key) ?? 0;
      if (count >= maxUnanswered) {
        gauge.countRefused();
        throw new OutboundError('busy', `${maxUnanswered} requests to the host have no answer yet`);
      }
      counts.set(key, count + 1);
      const queued = gauge.enter();
      try {
        return await send();
      } finally {
        gauge.leave(queued);
        const left = (counts.get(key) ?? 1) - 1;
        if (left > 0) counts.set(key, left);
        else counts.delete(key);
      }
    },
    state: (): QueueState => gauge.state(),
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

/** A URL as undici's dispatcher takes it. */
type ParsedUrl = { readonly origin: string; readonly path: string };

/** Checks and parses URLs, and remembers the last thousand. What a host resolves to is checked at each connection, not here. */
function createUrlParser(policy: NetworkPolicy) {
  const parserFor = (allowHttp: boolean) =>
    memo((url: string): ParsedUrl => {
      const problem = checkUrl(url, { ...policy, allowHttp });
      if (problem) throw new OutboundError(refusals[problem], `the URL is refused (${problem})`);
      const { origin, pathname, search } = new URL(url);
      return { origin, path: pathname + search };
    }, maxUrls);
  const [secure, any] = [parserFor(false), parserFor(true)];
  return {
    /** @throws {OutboundError} when the URL is refused */
    parse: (url: string, allowHttp: boolean): ParsedUrl => (allowHttp ? any(url) : secure(url)),
  };
}

/**
 * The only way in which the service sends requests to other hosts. It opens no socket to an address that the policy doesn't allow,
 * whatever a name resolves to and however often that changes; follows no redirect; obeys no proxy variable; checks certificates, always
 * (TLS 1.2 and later); and bounds time, header (16 KiB) and body. Connections are kept per origin: at most 16, closed when idle; of one host at most 64 requests wait.
 * @param resolve in place of the system's name resolution
 * @param trustedCertificates PEM certificates of further authorities
 * @throws {OutboundError} from each call that gets no answer
 */
export function createGuardedFetch({
  allowPrivateNetwork,
  resolve = createNameLookup(),
  trustedCertificates = [],
  tracer = null,
}: NetworkPolicy & {
  readonly resolve?: NameLookup;
  readonly trustedCertificates?: readonly string[];
  readonly tracer?: Tracer | null;
}): GuardedFetch {
  const policy = { allowPrivateNetwork };
  const urls = createUrlParser(policy);
  const bulkheads = createHostBulkheads();
  const open = async () => (await import('./connections.js')).openConnections(resolve, policy, trustedCertificates);
  /** Opened by the first request: undici takes 20 MiB of a process. */
  let opening: ReturnType<typeof open> | null = null;
  let connections: Connections | null = null;

  async function request(url: string | URL, options: OutboundRequest = {}): Promise<OutboundResponse> {
    const started = performance.now();
    connections ??= await (opening ??= open());
    const { agents } = connections;
    options.signal?.throwIfAborted();
    const { method = 'GET', headers = {}, body = null, maxResponseBytes = 64 * 1024, timeoutMs = 10_000, bodyTimeoutMs, signal } = options;
    const { origin, path } = urls.parse(String(url), options.allowHttp === true);
    const pool = options.pool ?? '';
    const span = tracer === null ? null : tracer.outbound(method, origin);
    const exchange = bulkheads.during(pool, origin, () => {
      const handler = new ResponseHandler({ timeoutMs, maxResponseBytes, bodyTimeoutMs, signal });
      agents.of(pool).dispatch({ origin, path, method, headers, body }, handler);
      return handler.response;
    });
    const response = await timed(span, exchange, ({ status }) => status);
    return { ...response, duration_ms: Math.round(performance.now() - started) };
  }

  async function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const outgoing = new Request(input, init);
    const sent = Buffer.from(await outgoing.arrayBuffer());
    const answer = await request(outgoing.url, {
      method: outgoing.method as NonNullable<OutboundRequest['method']>,
      headers: { 'accept-encoding': 'identity', ...Object.fromEntries(outgoing.headers) },
      body: sent.length > 0 ? sent : null,
      signal: outgoing.signal,
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

  const reach: GuardedFetch['reach'] = async (url, { timeoutMs, allowHttp = false }) =>
    (await (opening ??= open())).reach(urls.parse(url, allowHttp).origin, timeoutMs);
  return { request, fetch, reach, queue: bulkheads.state, close: async () => (await opening)?.agents.destroy() };
}
