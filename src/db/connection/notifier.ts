import type { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { FastCounter } from '../../platform/metrics/fast-metrics.js';

/** What `notify_after_commit(channel, payload)` asked for. */
export type Notification = { readonly channel: string; readonly payload: string };

/** Who hears what this process has committed, and how the other processes are told of it. */
export type NotificationTarget = { heard(notification: Notification): void; send(notifications: readonly Notification[]): Promise<void> };

/** The SQLSTATE of the messages by which `notify_after_commit` tells its own session what to notify of. */
const sqlstate = 'IDP01';
/** Notifications that are the same are sent once within this time. */
const pauseMs = 50;
/** What waits at most. Nobody misses what goes beyond it: each process also looks by itself, within a second for the cache and five for the queues. */
const most = 1_000;

/**
 * Sends notifications by themselves, after the commits that they belong to: NOTIFY inside a transaction holds a lock of the whole server until its commit is on
 * disk and at a synchronous standby, so that commits stand in a line. A transaction that is rolled back may wake somebody for nothing.
 */
export class Notifier {
  readonly #counted: FastCounter;
  readonly #waiting = new Map<string, Notification>();
  #target: NotificationTarget | null = null;
  #working = false;
  #sentAt = Number.NEGATIVE_INFINITY;

  /** @param counted by channel, and `sent`, `failed` or `dropped` */
  constructor(counted: FastCounter) {
    this.#counted = counted;
  }

  /** Null: nobody is told from now on. */
  connect(target: NotificationTarget | null): void {
    this.#target = target;
  }

  /** Collects what the session's statements ask for, until the server says that no transaction is open any more. */
  watch(client: pg.Client): void {
    let pending: Notification[] = [];
    client.on('notice', ({ code, message = '' }) => {
      const space = message.indexOf(' ');
      if (code === sqlstate) pending.push({ channel: message.slice(0, space), payload: message.slice(space + 1) });
    });
    const { connection } = client as unknown as { readonly connection: EventEmitter };
    connection.on('readyForQuery', ({ status }: { readonly status: string }) => {
      if (status !== 'I' || pending.length === 0) return;
      const committed = pending;
      pending = [];
      for (const one of committed) this.#tell(one);
    });
  }

  #tell(notification: Notification): void {
    if (!this.#target) return;
    const key = `${notification.channel} ${notification.payload}`;
    if (this.#waiting.size < most || this.#waiting.has(key)) this.#waiting.set(key, notification);
    else this.#counted.count(notification.channel, 'dropped');
    this.#target.heard(notification);
    void this.#work();
  }

  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    while (this.#waiting.size > 0) {
      await delay(Math.max(0, this.#sentAt + pauseMs - performance.now()));
      const notifications = [...this.#waiting.values()];
      this.#waiting.clear();
      this.#sentAt = performance.now();
      const sent = await (this.#target?.send(notifications) ?? Promise.reject(new Error('nobody is told any more'))).then(
        () => true,
        () => false,
      );
      for (const { channel } of notifications) this.#counted.count(channel, sent ? 'sent' : 'failed');
    }
    this.#working = false;
  }
}
