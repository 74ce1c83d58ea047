import type { EventClass } from './event-classes.js';

/** What is worth knowing of one kind of security event. */
export type SecurityEvent = {
  /** `critical`: somebody should look at once; log lines of `info` are informational, others warnings. */
  readonly severity: 'info' | 'warning' | 'critical';
  readonly outcome: 'success' | 'denied' | 'failure';
  /** What other systems' schemas call this kind of event. */
  readonly class: EventClass;
  /**
   * `transaction`: the row is written with the change, both or neither. `collected`: anybody can cause it as often as they like, so rows are
   * gathered in memory, written every second, and shared by what repeats within a minute.
   */
  readonly kept: 'transaction' | 'collected';
  /** Who did it, in the row's `actor`. */
  readonly actor: string;
  /** What it happened to, in the row's `targets`. */
  readonly target: string;
  readonly description: string;
};
