import { OutboundError, type OutboundReason } from '../../platform/fetch/fetch.js';
import type { Installation } from './installation.js';

/** Why an address can't be reached; null when it can. */
export type Reached = OutboundReason | null;

const timeoutMs = 2000;
const together = 50;

const texts: Readonly<Record<OutboundReason, string>> = {
  timeout: 'does not answer in time',
  dns: 'does not resolve',
  connect: 'takes no connection',
  tls: 'has no TLS that can be trusted',
  blocked_address: 'may not be asked',
  protocol: 'may not be asked in this way',
  too_large: 'answers too much',
  busy: 'has too many requests without an answer',
};

/** The reason as what the host does: "takes no connection". */
export const reachText = (reason: OutboundReason): string => texts[reason];

async function ask({ fetch }: Installation, url: string): Promise<Reached> {
  try {
    await fetch.reach(url, { timeoutMs });
    return null;
  } catch (error) {
    return error instanceof OutboundError ? error.reason : 'connect';
  }
}

/** Opens a connection to the origin of each address, once for each origin, and closes it. Nothing is sent. */
export async function askOrigins(installation: Installation, urls: readonly string[]): Promise<ReadonlyMap<string, Reached>> {
  const origins = [...new Set(urls.filter((url) => URL.canParse(url)).map((url) => new URL(url).origin))];
  const reached = new Map<string, Reached>();
  for (let from = 0; from < origins.length; from += together) {
    const some = origins.slice(from, from + together);
    const answers = await Promise.all(some.map((origin) => ask(installation, origin)));
    some.forEach((origin, index) => reached.set(origin, answers[index] ?? null));
  }
  return reached;
}

/** The same for what is sent to receivers: each with why it can't be reached. Those that aren't enabled aren't asked, and count as reached. */
export async function askReceivers<T extends { readonly url: string; readonly status: string }>(
  installation: Installation,
  receivers: readonly T[],
): Promise<readonly (readonly [T, Reached])[]> {
  const enabled = receivers.filter(({ status }) => status === 'enabled');
  const reached = await askOrigins(
    installation,
    enabled.map(({ url }) => url),
  );
  return receivers.map((receiver) => [receiver, reached.get(new URL(receiver.url).origin) ?? null] as const);
}
