import { DatabaseError, type Client, type QueryResultRow } from 'pg';
import { StatementBatch, type PreparedStatements } from './batch.js';
import type { NamedQuery } from './named.js';
import { Ambiguous, Outdated, Unavailable } from '../failures.js';
import type { SuspectConnections } from '../suspect-connections.js';
import { endsSession, databaseFailureOf } from '../sqlstate.js';

export type Session = { readonly client: Client; readonly prepared: PreparedStatements };

/** A connection of a statement batcher: opened when it is needed, and again after it was lost. */
export class SharedConnection {
  /** Whether a batch is on its way. */
  busy = false;
  readonly #open: () => Client;
  readonly #suspects: SuspectConnections;
  #session: Promise<Session> | null = null;
  #heardAt = 0;

  constructor(open: () => Client, suspects: SuspectConnections) {
    this.#open = open;
    this.#suspects = suspects;
  }

  /** The connection that there is, or a new one when there is none or it may be dead. @throws what `pg` throws when the server can't be reached */
  session(): Promise<Session> {
    if (this.#session && this.#suspects.concerns(this.#heardAt)) this.hangUp();
    return this.#session ?? this.#connect();
  }

  /** Runs the queries as one batch. @throws {BatchFailure} */
  async send(session: Session, queries: readonly NamedQuery[], answerTimeoutMs: number): Promise<QueryResultRow[][]> {
    try {
      return await sendBatch(session, queries, answerTimeoutMs);
    } catch (error) {
      const { kind, usable } = error as BatchFailure;
      if (kind === 'silent') this.#suspects.notice();
      if (!usable) this.hangUp();
      throw error;
    } finally {
      this.#heardAt = performance.now();
    }
  }

  /** Gives the connection up; the next statement opens another. */
  hangUp(): void {
    const session = this.#session;
    this.#session = null;
    void session?.then(({ client }) => client.end()).catch(() => undefined);
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#session = null;
    await (await session)?.client.end();
  }

  async #connect(): Promise<Session> {
    const client = this.#open();
    const forget = () => {
      if (this.#session === mine) this.#session = null;
    };
    client.on('error', forget);
    client.on('end', forget);
    const mine = client.connect().then(() => ({ client, prepared: new Map() as PreparedStatements }));
    this.#session = mine;
    this.#heardAt = performance.now();
    try {
      return await mine;
    } catch (error) {
      forget();
      void client.end().catch(() => undefined);
      throw error;
    }
  }
}

/**
 * Why a batch has no rows. `refused`: the server said so, and nothing of the batch has happened. `unread`: it has happened, and a row of it can't be read.
 * `lost`, `silent`: the connection went, or the server hadn't answered in time; what had all been executed by then has happened or not.
 */
export class BatchFailure extends Error {
  constructor(
    readonly kind: 'refused' | 'unread' | 'lost' | 'silent',
    /** Index of the statement that was not answered; the number of statements when all were, and the commit was not. */
    readonly position: number,
    /** Whether the connection can be used further. */
    readonly usable: boolean,
    /** What it means for the statement at `position`: a failure of the database layer, or the error of the server or `pg` itself. */
    override readonly cause: Error,
  ) {
    super('a batch of statements failed', { cause });
    this.name = 'BatchFailure';
  }
}

/** What a statement of a batch that failed is told, when it isn't run again. A write whose commit was asked for, and not answered, has happened or not. */
export function failureFor(kind: BatchFailure['kind'], cause: Error, writes: boolean): Error {
  if (kind === 'refused' || kind === 'unread') return cause;
  if (writes) return new Ambiguous('the connection was lost before the answer to a commit', null, cause);
  return new Unavailable('the connection was lost before an answer', null, cause);
}

function batchFailureOf(batch: StatementBatch, length: number, silent: boolean, error: Error): BatchFailure {
  const { position } = batch;
  if (error === batch.unreadable) return new BatchFailure('unread', position, true, error);
  const failure = databaseFailureOf(error, { call: 'committing', lost: false });
  // With synchronous replication a session that is ended while it waits for the standby has committed already.
  if (!(error instanceof DatabaseError) || (endsSession(failure) && position === length))
    return new BatchFailure(silent ? 'silent' : 'lost', position, false, error);
  const usable = !endsSession(failure) && !batch.prepares && !(failure instanceof Outdated);
  return new BatchFailure('refused', position, usable, failure);
}

/**
 * Runs the queries as one batch. A server that hasn't answered after `answerTimeoutMs` milliseconds is hung up on.
 * @returns the rows of each query
 * @throws {BatchFailure}
 */
function sendBatch({ client, prepared }: Session, queries: readonly NamedQuery[], answerTimeoutMs: number): Promise<QueryResultRow[][]> {
  return new Promise((resolve, reject) => {
    const batch = new StatementBatch(queries, prepared, (type, format) => client.getTypeParser(type, format) as (text: string) => unknown);
    let silent = false;
    const timer = setTimeout(() => {
      silent = true;
      (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    }, answerTimeoutMs);
    const done = (error: Error | null) => {
      clearTimeout(timer);
      if (error) reject(batchFailureOf(batch, queries.length, silent, error));
      else resolve(batch.rows);
    };
    (client.query as (batch: StatementBatch, done: (error: Error | null) => void) => void).call(client, batch, done);
  });
}
