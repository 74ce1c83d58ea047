import type { Client, QueryResultRow } from 'pg';
import { StatementBatch, type PreparedStatements } from './batch.js';
import type { NamedQuery } from './named.js';

/** An open connection and what it has prepared. */
export type Session = { readonly client: Client; readonly prepared: PreparedStatements };

/** One of the connections of a statement line: opened when it is needed, and again after it was lost. */
export class SharedConnection {
  /** Whether a batch is on its way. */
  busy = false;
  readonly #open: () => Client;
  #session: Promise<Session> | null = null;

  constructor(open: () => Client) {
    this.#open = open;
  }

  /** The connection that there is, or a new one. @throws what `pg` throws when the server can't be reached */
  session(): Promise<Session> {
    return this.#session ?? this.#connect();
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
 * Runs the queries as one batch and answers the rows of each.
 * @throws the error of the server or the connection, with `prepares`: whether what the connection has prepared is unknown now
 */
export function sendBatch({ client, prepared }: Session, queries: readonly NamedQuery[]): Promise<QueryResultRow[][]> {
  return new Promise((resolve, reject) => {
    const batch = new StatementBatch(queries, prepared, (type, format) => client.getTypeParser(type, format) as (text: string) => unknown);
    const done = (error: Error | null) => {
      if (error) reject(Object.assign(error, { prepares: batch.prepares }));
      else resolve(batch.rows);
    };
    (client.query as (batch: StatementBatch, done: (error: Error | null) => void) => void).call(client, batch, done);
  });
}
