/** What is known of a queue at one moment: the same of each, so that one alert serves them all. */
export type QueueState = {
  /** What waits there: `requests`, `signing`, `hashing`, `outbound`, `pool`, `process_locks`, `statements_look_up`, `statements_write`. */
  readonly queue: string;
  /** How many wait or are being served. */
  readonly length: number;
  /** How long the oldest has waited, or the next one would, in seconds. */
  readonly wait: number;
  /** How many were refused so far, because they couldn't be served in time. */
  readonly refused: number;
};

/** One that is in a queue; what {@link QueueGauge.enter} gives. */
export type Queued = { readonly at: number };

/** Keeps the figures of a queue that something else holds: who is in it since when, and how many were refused. */
export class QueueGauge {
  readonly #queue: string;
  /** In the order in which they came. */
  readonly #queued = new Set<Queued>();
  #refused = 0;

  constructor(queue: string) {
    this.#queue = queue;
  }

  enter(): Queued {
    const one = { at: performance.now() };
    this.#queued.add(one);
    return one;
  }

  leave(one: Queued): void {
    this.#queued.delete(one);
  }

  countRefused(): void {
    this.#refused += 1;
  }

  state(): QueueState {
    const [oldest] = this.#queued;
    const wait = oldest ? (performance.now() - oldest.at) / 1000 : 0;
    return { queue: this.#queue, length: this.#queued.size, wait, refused: this.#refused };
  }
}
