/** A statement that a connection of the pool is at. */
export type Running<Connection> = {
  readonly connection: Connection;
  readonly subject: string;
  /** Monotonic milliseconds. */
  readonly since: number;
  ended: boolean;
};

const slowMs = 1000;
const maxSubjects = 1000;

const transactional = /^\s*(?:begin|commit|rollback|savepoint|release|set)\b/i;
const target = /^\s*(select\b.*?\bfrom|insert\s+into|update|delete\s+from)\s+"?(\w+)/is;

/** What a statement does to which table, so far as its first words tell (`select users`); null for the ends of transactions, which are let through. */
function subjectOf(text: string): string | null {
  if (transactional.test(text)) return null;
  const [, verb = '', table] = target.exec(text) ?? [];
  return table === undefined ? text : `${verb.slice(0, 6).toLowerCase()} ${table}`;
}

/**
 * Keeps half of a pool's connections free of statements that wait for each other's cause: a locked table, a slow disk. Once more than half of them
 * have been at a statement for a second, the latest of those are ended, and another statement of the kind of any of them is refused before it is
 * sent; its transaction is rolled back, and its connection goes to whoever needs something else.
 */
export class PoolWatch<Connection> {
  readonly #cap: number;
  readonly #cancel: (connection: Connection) => void;
  readonly #running = new Set<Running<Connection>>();
  readonly #subjects = new Map<string, string | null>();
  /** What was ended while half of the pool has been waiting. */
  readonly #stuck = new Set<string>();
  #watching = false;
  #refused = 0;

  /** @param cancel ends what the connection is at */
  constructor(poolMax: number, cancel: (connection: Connection) => void) {
    this.#cap = Math.max(1, Math.floor(poolMax / 2));
    this.#cancel = cancel;
  }

  /** How many statements were refused or ended. */
  get refused(): number {
    return this.#refused;
  }

  /** Notes a statement that is about to be sent; null when it must not be, undefined when it isn't watched. */
  begin(connection: Connection, text: string): Running<Connection> | null | undefined {
    const subject = this.#subjectOf(text);
    if (subject === null) return undefined;
    if (this.#running.size >= this.#cap && this.#isStuck(subject)) {
      this.#refused += 1;
      return null;
    }
    const running = { connection, subject, since: performance.now(), ended: false };
    this.#running.add(running);
    if (this.#running.size > this.#cap && !this.#watching) this.#lookIn(slowMs);
    return running;
  }

  /** Notes that a statement has been answered, or given up. */
  end(running: Running<Connection>): void {
    this.#running.delete(running);
  }

  #slow(): Running<Connection>[] {
    const before = performance.now() - slowMs;
    return [...this.#running].filter(({ since, ended }) => since <= before && !ended);
  }

  #isStuck(subject: string): boolean {
    const slow = this.#slow();
    if (slow.length < this.#cap) {
      this.#stuck.clear();
      return false;
    }
    return this.#stuck.has(subject) || slow.some((one) => one.subject === subject);
  }

  #lookIn(ms: number): void {
    this.#watching = true;
    setTimeout(() => this.#look(), ms).unref();
  }

  /** Ends the latest of those that are too many. */
  #look(): void {
    this.#watching = false;
    for (const one of this.#slow().slice(this.#cap)) {
      one.ended = true;
      this.#stuck.add(one.subject);
      this.#refused += 1;
      this.#cancel(one.connection);
    }
    if (this.#running.size > this.#cap) this.#lookIn(slowMs / 4);
  }

  #subjectOf(text: string): string | null {
    let subject = this.#subjects.get(text);
    if (subject === undefined) {
      subject = subjectOf(text);
      if (this.#subjects.size >= maxSubjects) this.#subjects.clear();
      this.#subjects.set(text, subject);
    }
    return subject;
  }
}
