import type { DueDestination } from '../../db/queue-rows.js';

/** Where a job goes; jobs of one destination share its slots and its breaker. */
export type DestinationKey = { readonly environment_id: string; readonly id: string };

/** A claimed piece of work: `lease_id` proves the claim, and `claimedAt` (monotonic milliseconds) says since when. */
export type Job = { readonly destination: DestinationKey; readonly due_at: Date; readonly lease_id: string; readonly claimedAt: number };

/** How an attempt went. `ok` false counts for the breaker of its destination. `retry_in_ms`: until the next attempt, or null when there is none. */
export type AttemptOutcome = { readonly ok: boolean; readonly durationMs: number; readonly retry_in_ms: number | null };

export type QueueLimits = {
  /** Attempts in flight, all destinations together. */
  readonly inFlight: number;
  /** Attempts in flight at one destination: a slow one holds no more than these. */
  readonly inFlightPerDestination: number;
  /** Jobs claimed and not yet recorded. */
  readonly held: number;
  /** How often to look unasked, in milliseconds. */
  readonly pollMs: number;
  /** How long attempts in flight may go on when the process stops, in milliseconds. */
  readonly stopMs: number;
};

/** Of each limit that all environments share, how much is kept for those that have little: whoever fills the rest with slow receivers leaves them that. */
export const reservedOf = (limit: number): number => Math.floor(limit / 5);

/** An environment has little while it has fewer than this: what one destination may have in flight, no more than what is kept. */
export const littleOf = ({ inFlight, inFlightPerDestination }: QueueLimits): number =>
  Math.min(inFlightPerDestination, reservedOf(inFlight));

/**
 * A durable queue: rows that are claimed under a lease, worked on outside any transaction, and moved on together with the record of the
 * attempt. Several processes share it.
 */
export type Queue<J extends Job, Result extends AttemptOutcome> = {
  /** In metrics, logs and notifications. */
  readonly name: string;
  readonly limits: QueueLimits;
  readonly leaseMs: number;
  /** The longest that `attempt` takes. */
  readonly timeoutMs: number;
  /** The longest wait between two probes of an open breaker, in milliseconds; see `noteOutcome`. */
  readonly retryBaseMs: number;
  /** What has fallen due lately; `full` when that may not be all. */
  recent(): Promise<{ due: readonly DueDestination[]; full: boolean }>;
  /** What is due at all: called every few seconds, and when `recent` was full. */
  fullScan(): Promise<readonly DueDestination[]>;
  /** Housekeeping, every few seconds. */
  tidy(): Promise<void>;
  /** Milliseconds until something falls due, or null. */
  nextDueIn(): Promise<number | null>;
  claim(claims: readonly (DueDestination & { limit: number })[]): Promise<J[]>;
  /** Gives jobs back, unworked. */
  release(jobs: readonly J[]): Promise<void>;
  /** Does the work; never throws, except when the signal ends it. */
  attempt(job: J, signal: AbortSignal): Promise<Result>;
  /** Records results; those whose lease another process has taken over are dropped. */
  record(results: readonly { job: J; result: Result }[]): Promise<void>;
};
