import { memo } from '../../lib/memo.js';

/** A statement that a connection of the pool runs. */
export type RunningStatement<Connection> = {
  readonly connection: Connection;
  readonly kind: string;
  /** Monotonic milliseconds. */
  readonly since: number;
  cancelled: boolean;
};

const slowMs = 1000;
/** Texts whose kind is remembered. */
const maxTexts = 1000;

const transactional = /^\s*(?:begin|commit|rollback|savepoint|release|set)\b/i;
const target = /^\s*(select\b.*?\bfrom|insert\s+into|update|delete\s+from)\s+"?(\w+)/is;

/** What a statement does to which table, as far as its first words tell (`select users`), else its text; null for what begins and ends transactions. */
function kindOf(text: string): string | null {
  if (transactional.test(text)) return null;
  const [, verb = '', table] = target.exec(text) ?? [];
  return table === undefined ? text : `${verb.slice(0, 6).toLowerCase()} ${table}`;
}

/**
 * A bulkhead: keeps half of a pool's connections free of statements that are slow for one cause, such as a locked table. Once more than half of
 * them have run a statement for a second, the latest of those are cancelled, and others of the same kinds are refused before they are sent: the
 * transaction is rolled back, and the connection goes to whoever needs something else.
 */
export class PoolBulkhead<Connection> {
  /** Connections that slow statements may hold. */
  readonly #cap: number;
  readonly #cancel: (connection: Connection) => void;
  readonly #running = new Set<RunningStatement<Connection>>();
  readonly #kindOf = memo(kindOf, maxTexts);
  /** Kinds that were cancelled, while half of the pool is slow. */
  readonly #stuck = new Set<string>();
  #checking = false;
  #refused = 0;

  /** @param cancel cancels the statement that the connection runs */
  constructor(poolMax: number, cancel: (connection: Connection) => void) {
    this.#cap = Math.max(1, Math.floor(poolMax / 2));
    this.#cancel = cancel;
  }

  /** How many statements were refused or cancelled so far. */
  get refused(): number {
    return this.#refused;
  }

  /** Notes a statement that is about to be sent, unless it is `'refused'`; null for what begins or ends a transaction, which is always sent. */
  begin(connection: Connection, text: string): RunningStatement<Connection> | 'refused' | null {
    const kind = this.#kindOf(text);
    if (kind === null) return null;
    if (this.#running.size >= this.#cap && this.#isStuck(kind)) {
      this.#refused += 1;
      return 'refused';
    }
    const running = { connection, kind, since: performance.now(), cancelled: false };
    this.#running.add(running);
    if (this.#running.size > this.#cap && !this.#checking) this.#checkIn(slowMs);
    return running;
  }

  /** Notes that a statement was answered, or given up. */
  end(running: RunningStatement<Connection>): void {
    this.#running.delete(running);
  }

  /** Those that have run for long, the oldest first. */
  #slow(): RunningStatement<Connection>[] {
    const before = performance.now() - slowMs;
    return [...this.#running].filter(({ since, cancelled }) => since <= before && !cancelled);
  }

  #isStuck(kind: string): boolean {
    const slow = this.#slow();
    if (slow.length < this.#cap) {
      this.#stuck.clear();
      return false;
    }
    return this.#stuck.has(kind) || slow.some((one) => one.kind === kind);
  }

  #checkIn(ms: number): void {
    this.#checking = true;
    setTimeout(() => this.#check(), ms).unref();
  }

  /** Cancels the latest of the slow ones that are too many. */
  #check(): void {
    this.#checking = false;
    for (const one of this.#slow().slice(this.#cap)) {
      one.cancelled = true;
      this.#stuck.add(one.kind);
      this.#refused += 1;
      this.#cancel(one.connection);
    }
    if (this.#running.size > this.#cap) this.#checkIn(slowMs / 4);
  }
}
