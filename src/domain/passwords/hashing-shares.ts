/** `known`: the caller has proven something to the account before (a sign-in from this browser, a code, a session); `stranger`: anybody else. */
export type Priority = 'known' | 'stranger';

/** One that waits for its turn. */
export type Waiter = { readonly start: () => void; readonly timer: NodeJS.Timeout; readonly since: number };

export type HashingShare = {
  readonly waiting: Record<Priority, Waiter[]>;
  running: number;
  /** Milliseconds of work that it has had, on the scale of all; whoever has had the least is next. */
  used: number;
  /** How long one of its tasks takes: a moving average. */
  averageMs: number;
};

export const lengthOf = ({ waiting }: HashingShare): number => waiting.known.length + waiting.stranger.length;

/** Shares time equally among the environments that have something to do, however many of each wait and however long their tasks take. */
export class HashingShares {
  /** Of the environments that have or lately had something to do. */
  readonly #shares = new Map<string, HashingShare>();
  /** The `used` of whoever was served last: an environment that comes anew begins there, and has saved nothing up. */
  #clockMs = 0;
  /** What a first task of an environment is taken to last: a guess until some have run. */
  #averageMs = 50;

  of(environment_id: string): HashingShare {
    const found = this.#shares.get(environment_id);
    if (found) return found;
    const share: HashingShare = { waiting: { known: [], stranger: [] }, running: 0, used: this.#clockMs, averageMs: this.#averageMs };
    this.#shares.set(environment_id, share);
    return share;
  }

  all(): HashingShare[] {
    return [...this.#shares.values()];
  }

  /** The work that is before one that comes now: that of its own environment, and as much time of every other. */
  aheadMs(share: HashingShare, priority: Priority): number {
    const ahead = share.waiting.known.length + (priority === 'stranger' ? share.waiting.stranger.length : 0);
    const own = ahead * share.averageMs;
    let all = own;
    for (const other of this.#shares.values()) if (other !== share) all += Math.min(own, lengthOf(other) * other.averageMs);
    return all;
  }

  /** A task of the environment begins. */
  begin(share: HashingShare): void {
    share.running += 1;
    share.used = Math.max(share.used, this.#clockMs);
    this.#clockMs = share.used;
  }

  /** A task has ended. Environments with nothing to do that owe nothing are forgotten, as all are when none has anything to do. */
  end(share: HashingShare, tookMs: number): void {
    share.running -= 1;
    share.used += tookMs;
    share.averageMs += (tookMs - share.averageMs) / 16;
    this.#averageMs += (tookMs - this.#averageMs) / 16;
    const idle = (one: HashingShare) => one.running === 0 && lengthOf(one) === 0;
    const over = this.all().every(idle);
    for (const [environment_id, other] of this.#shares)
      if (idle(other) && (over || other.used <= this.#clockMs)) this.#shares.delete(environment_id);
  }

  /** Whoever is next leaves the line: of the environment that has had the least time, the known before strangers. Null when nobody waits. */
  next(): { readonly share: HashingShare; readonly waiter: Waiter } | null {
    const [share] = this.all()
      .filter((one) => lengthOf(one) > 0)
      .sort((a, b) => a.used - b.used);
    const waiter = share && (share.waiting.known.shift() ?? share.waiting.stranger.shift());
    return share && waiter ? { share, waiter } : null;
  }
}
