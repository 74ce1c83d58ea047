import type { ForwardedAddress, ForwardedReport } from '../../db/tables/processes.js';

/** What one request said: `X-Forwarded-Host` and `X-Forwarded-Proto` as they came, who sent it, and whether TRUST_PROXY covers that address. */
export type ForwardedSample = {
  readonly host: string | null;
  readonly proto: string | null;
  readonly peer: string;
  readonly trusted: boolean;
};

/** Samples of requests, for whoever looks later whether the proxy in front and BASE_URL agree. */
export type ForwardedNotes = {
  /** Whether a second has passed since the last sample: asked by every request, it costs next to nothing. */
  isDue(): boolean;
  note(sample: ForwardedSample): void;
  /** What the samples of the last ten minutes say. */
  report(): ForwardedReport;
};

const betweenMs = 1000;
const keptMs = 600_000;
const maxSamples = 120;
const maxAddresses = 5;

const isHost = (text: string) => text.length <= 260 && /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i.test(text);

/** Anybody can send any text in these headers: only what is a host or a protocol is kept. Of a list the first counts, which the outermost proxy wrote. */
function tidied({ host, proto, peer, trusted }: ForwardedSample): ForwardedSample {
  const [first = ''] = (host ?? '').split(',');
  const [scheme = ''] = (proto ?? '').split(',');
  return {
    host: isHost(first.trim()) ? first.trim().toLowerCase() : null,
    proto: /^https?$/i.test(scheme.trim()) ? scheme.trim().toLowerCase() : null,
    peer: peer.replace(/^::ffff:/, ''),
    trusted,
  };
}

/** @param elapsed milliseconds since some moment */
export function createForwardedNotes(elapsed: () => number = () => performance.now()): ForwardedNotes {
  let samples: { readonly at: number; readonly sample: ForwardedSample }[] = [];
  let dueAt = -Infinity;
  return {
    isDue: () => elapsed() >= dueAt,
    note(sample) {
      const at = elapsed();
      dueAt = at + betweenMs;
      samples = [...samples.slice(1 - maxSamples), { at, sample: tidied(sample) }];
    },
    report() {
      const since = elapsed() - keptMs;
      samples = samples.filter(({ at }) => at >= since);
      const counts = new Map<string, ForwardedAddress>();
      for (const { sample } of samples) {
        if (sample.host === null && sample.proto === null) continue;
        const key = JSON.stringify(sample);
        counts.set(key, { ...sample, count: (counts.get(key)?.count ?? 0) + 1 });
      }
      const seen = [...counts.values()].sort((one, other) => other.count - one.count).slice(0, maxAddresses);
      return { sampled: samples.length, seen };
    },
  };
}
