import { unrepeatablePaths } from './management-api.js';
import type { TokenSource } from './tokens.js';

export type Sending = {
  readonly token: TokenSource;
  readonly fetch: typeof globalThis.fetch;
  /** How often a request is sent again at most. */
  readonly retries: number;
};

const mostWaitMs = 60_000;
/** For so long reads bring the place of the last write, by which lists from a replica have it. */
const readAfterMs = 60_000;

/** Waits, unless the signal ends it. @throws its reason */
export const pause = (ms: number, signal: AbortSignal | null): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });

/** What the service asks for (RFC 9110 10.2.3), else twice as long each time, and not for all at once. */
function waitMs(response: Response | null, attempt: number): number {
  const asked = Number(response?.headers.get('retry-after') ?? Number.NaN);
  return Math.min(mostWaitMs, Number.isFinite(asked) ? 1000 * asked : 250 * 2 ** attempt * (0.5 + Math.random()));
}

/** Whether the first try of the same request is still under way. */
async function isUnderWay(response: Response, attempt: number): Promise<boolean> {
  if (response.status !== 409 || attempt === 0) return false;
  const body = (await response.clone().json().catch(() => null)) as { errors?: { code?: string }[] } | null; // prettier-ignore
  return body?.errors?.[0]?.code === 'idempotency_key_in_use';
}

/**
 * Sends with a token, and again where that is safe: what was refused for now (429, 503) always; what may have been done already only if a repetition does
 * nothing a second time, which an Idempotency-Key sees to.
 */
export function retryingFetch({ token, fetch, retries }: Sending): (request: Request) => Promise<Response> {
  let written = { place: '', until: 0 };
  return async (given) => {
    const headers = new Headers(given.headers);
    const isKeyed = ['POST', 'PATCH'].includes(given.method) && !unrepeatablePaths.includes(new URL(given.url).pathname);
    if (isKeyed && !headers.has('idempotency-key')) headers.set('idempotency-key', crypto.randomUUID());
    const body = ['GET', 'HEAD'].includes(given.method) ? undefined : await given.arrayBuffer();
    const isSafe = isKeyed || given.method === 'GET';
    if (given.method === 'GET' && Date.now() < written.until && !headers.has('read-after')) headers.set('read-after', written.place);
    let renewed = false;
    for (let attempt = 0; ; attempt++) {
      headers.set('authorization', `Bearer ${await token(renewed && attempt === 1)}`);
      const init = { headers, redirect: 'error' as const, signal: given.signal, ...(body?.byteLength ? { body } : {}) };
      const response = await fetch(new Request(given.url, { method: given.method, ...init })).catch((error: unknown) => {
        if (given.signal.aborted || !isSafe || attempt >= retries) throw error;
        return null;
      });
      if (response?.status === 401 && attempt === 0) {
        renewed = true;
        continue;
      }
      const isForNow = response === null || [429, 503].includes(response.status) || (isSafe && [502, 504].includes(response.status));
      if (response && (attempt >= retries || !(isForNow || (await isUnderWay(response, attempt))))) {
        const place = response.headers.get('read-after');
        if (place !== null) written = { place, until: Date.now() + readAfterMs };
        return response;
      }
      await response?.body?.cancel();
      await pause(waitMs(response, attempt), given.signal);
    }
  };
}
