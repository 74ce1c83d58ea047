/**
 * What a caller knows of a request when it is over. `ok`: it was done. `refused`: it was not, and never will be. `unknown`: no answer, or one that
 * leaves open whether it was done (503, a reset connection); it may have been done, may be done later, or never.
 */
export type Outcome = 'ok' | 'refused' | 'unknown';

/** A state of a record that a write leaves; null when the write removes it. Texts are used once in a run, so that a text tells its write. */
export type Written = {
  readonly record: string;
  readonly value: string | null;
  /** The event that the write emits; null when it emits none. */
  readonly event_type: string | null;
};

/** One POST that the webhook receiver got: `ok` when it answered 2xx, `refused` when it failed it on purpose. */
export type Delivered = {
  readonly event_id: string;
  readonly event_type: string;
  /** A digest of the body. */
  readonly bytes: string;
  readonly record: string;
  readonly value: string;
};

/** A window of a rate limit, how many requests it allows, and how long it still lasts, as the answer says it. */
export type Taken = { readonly window: string; readonly limit: number; readonly window_ms: number; readonly reset_ms: number };

/** What an operation says about the things that the rules speak of; most say one thing. Subjects are named `<kind>:<value>`. */
export type Aspects = {
  /** Subjects (tokens, codes, clients, users, keys) that are in force from the answer on, when it is ok. */
  readonly issues?: readonly string[];
  /** The subject that is no longer in force when this is ok. */
  readonly withdraws?: string;
  /** What had to be in force for it to be ok; `refused` says that something of it was not. */
  readonly uses?: readonly string[];
  readonly redeems?: string;
  /** The refresh token that is presented, the grant it belongs to, and, when ok, what came back. */
  readonly presents?: { readonly token: string; readonly family: string; readonly successor: string | null };
  readonly writes?: Written;
  /** What was read: the value, or null when there is no such record. Counts only when ok. */
  readonly reads?: { readonly record: string; readonly value: string | null };
  readonly delivers?: Delivered;
  readonly takes?: Taken;
  /** The fault that was made here; a crash of the database forgets what it keeps in unlogged tables. */
  readonly fault?: { readonly crash: boolean };
};

/** One request with its answer, one delivery, or one fault. Times are milliseconds since the run began, by the clock of the one process that records. */
export type Operation = Aspects & {
  readonly id: number;
  readonly kind: string;
  /** The replica that was asked: A or B; - for none. */
  readonly replica: string;
  readonly start: number;
  readonly end: number;
  readonly outcome: Outcome;
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** The header of that name; left out without one. */
  readonly retry_after?: string;
};

/** All that happened in a run, in the order in which it ended. */
export type History = readonly Operation[];

/** A rule that a history breaks, with the operations that show it and no others. */
export type Violation = {
  readonly rule: string;
  readonly subject: string;
  readonly says: string;
  readonly operations: readonly Operation[];
};

/** The operations of one subject together. */
export function groupBy<T>(items: Iterable<T>, key: (item: T) => string | undefined): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = key(item);
    if (name === undefined) continue;
    const group = groups.get(name);
    if (group) group.push(item);
    else groups.set(name, [item]);
  }
  return groups;
}
