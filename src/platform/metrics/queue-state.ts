/** What is known of a queue at one moment: the same of each, so that one alarm serves them all. */
export type QueueState = {
  /** What waits there: `requests`, `signing`, `hashing`, `outbound`, `pool`, `statements_look_up`, `statements_write`. */
  readonly queue: string;
  /** How many wait or are being served. */
  readonly length: number;
  /** How long the oldest has waited, or the next one would, in seconds. */
  readonly wait: number;
  /** How many were refused so far, since they couldn't be served in time. */
  readonly refused: number;
};
