import { createGuardedFetch, OutboundError, type GuardedFetch } from '../fetch/fetch.js';
import { checkUrl } from '../fetch/guard.js';

/** Milliseconds that a check may take: somebody waits for it. */
export const rangeTimeoutMs = 1500;
const maxResponseBytes = 256 * 1024;
const prefixLength = 5;

/** Asks a service which hashes begin with five digits, as Pwned Passwords tells (k-anonymity). */
export type RangeClient = {
  /**
   * How often the SHA-1 (40 hexadecimal digits, upper case) was seen; 0 when the service doesn't know it. Only the first five digits are sent.
   * @throws {OutboundError} without a usable answer; its reason is `busy` when too many others wait, and the service wasn't asked
   */
  countOf(hash: string): Promise<number>;
  close(): Promise<void>;
};

/** Suffixes of an answer with their counts. @throws {OutboundError} when a line is anything else */
function readRange(body: Buffer): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of body.toString('latin1').split(/\r?\n/)) {
    if (line === '') continue;
    const [, suffix, count] = /^([0-9A-F]{35}):(\d{1,12})$/i.exec(line) ?? [];
    if (suffix === undefined) throw new OutboundError('protocol', 'the answer is not a list of hashes');
    counts.set(suffix.toUpperCase(), Number(count));
  }
  return counts;
}

async function askFor(fetch: GuardedFetch, url: string, prefix: string): Promise<ReadonlyMap<string, number>> {
  const answer = await fetch.request(url + prefix, {
    // Padded answers are of one length or another whatever the prefix, so that not even that is told on the way; what pads has the count 0.
    headers: { 'add-padding': 'true', accept: 'text/plain', 'user-agent': 'identity-provider' },
    timeoutMs: rangeTimeoutMs,
    maxResponseBytes,
  });
  if (answer.status !== 200) throw new OutboundError('protocol', `the answer has status ${answer.status}`);
  if (answer.truncated) throw new OutboundError('too_large', `the answer is longer than ${maxResponseBytes} bytes`);
  return readRange(answer.body);
}

/**
 * The client of the range service at `url`, to which the five digits are added. It has connections of its own, 16 at most; of more than 64 requests the others
 * are `busy`. Those that ask for one prefix at once share one request.
 * @param allowPrivateNetwork whether this one host may have a private address, and be asked without TLS: an operator's own mirror
 * @throws {OutboundError} for an address that is never asked
 */
export function createRangeClient({ url, allowPrivateNetwork }: { url: string; allowPrivateNetwork: boolean }): RangeClient {
  const problem = checkUrl(url, { allowPrivateNetwork });
  if (problem !== null) throw new OutboundError('blocked_address', `the URL is refused (${problem})`);
  const fetch = createGuardedFetch({ allowPrivateNetwork });
  const pending = new Map<string, Promise<ReadonlyMap<string, number>>>();

  function rangeOf(prefix: string): Promise<ReadonlyMap<string, number>> {
    const shared = pending.get(prefix);
    if (shared) return shared;
    const answer = askFor(fetch, url, prefix).finally(() => pending.delete(prefix));
    pending.set(prefix, answer);
    return answer;
  }

  return {
    countOf: async (hash) => (await rangeOf(hash.slice(0, prefixLength))).get(hash.slice(prefixLength)) ?? 0,
    close: () => fetch.close(),
  };
}
