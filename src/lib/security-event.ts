/** What is worth knowing of one kind of security event. */
export type SecurityEvent = {
  /** `critical`: somebody should look at once; log lines of `info` are informational, others warnings. */
  readonly severity: 'info' | 'warning' | 'critical';
  readonly outcome: 'success' | 'denied' | 'failure';
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
