/**
 * How long a piece of work may still take: one for each request, handed down with its context. Every wait spends from the same time: for a connection,
 * in a queue, for a statement and for its repetition. When the caller has gone, nothing more is begun for it.
 */
export type Deadline = {
  /** Milliseconds left; 0 when the time is up or the caller has gone. */
  left(): number;
};

/** A deadline that whoever made it can bring forward. */
export type CancellableDeadline = Deadline & {
  /** The caller has gone: nothing is left. */
  cancel(): void;
};

class Timed implements CancellableDeadline {
  #at: number;
  constructor(ms: number) {
    this.#at = performance.now() + ms;
  }
  left(): number {
    return Math.max(0, this.#at - performance.now());
  }
  cancel(): void {
    this.#at = 0;
  }
}

/** A deadline `ms` milliseconds from now. */
export const deadlineIn = (ms: number): CancellableDeadline => new Timed(ms);

/** For jobs and commands, which nobody waits for: each wait has its own limit all the same. */
export const noDeadline: Deadline = { left: () => Infinity };

/** `ms` milliseconds from now, or when `deadline` ends if that is sooner: for what may take a share of a request's time. */
export function boundedBy(deadline: Deadline, ms: number): Deadline {
  const own = deadlineIn(ms);
  return { left: () => Math.min(own.left(), deadline.left()) };
}
