import type { Client, QueryConfig, QueryResultRow } from 'pg';

/** A statement with its values, prepared under its name once per connection. */
export type NamedQuery = { readonly name: string; readonly text: string; readonly values: readonly unknown[] };

/** Runs a named statement and answers its rows. With a callback `pg` makes two promises and a stack trace less than without. */
export function queryOn<Row extends QueryResultRow>(connection: Client, query: NamedQuery): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    connection.query<Row>(query as QueryConfig, (error: Error | null, result) => {
      if (error) reject(error);
      else resolve(result.rows);
    });
  });
}

/** A connection that many reads share at once. */
export type ReadLine = {
  /** Runs a named statement that only reads. Statements that are on their way at the same time don't wait for each other's answers. */
  query<Row extends QueryResultRow>(query: NamedQuery): Promise<Row[]>;
  close(): Promise<void>;
};

/**
 * One pipelined connection for the look-ups of the hot path: a statement is sent without waiting for the answer to the one before it, so
 * that a busy process writes and reads its socket once for several statements, and PostgreSQL wakes up once. Only for reads
 * by primary key outside of transactions: what is slow or locks would hold up those behind it. A connection that fails
 * takes its statements with it, as everywhere; the next one opens another.
 */
export function createReadLine(open: () => Client): ReadLine {
  let line: Promise<Client> | null = null;
  let closed = false;

  function connected(): Promise<Client> {
    if (line) return line;
    const client = open();
    const mine = client.connect().then(() => client);
    const forget = () => {
      if (line === mine) line = null;
    };
    client.on('error', forget);
    client.on('end', forget);
    mine.catch(() => {
      forget();
      void client.end().catch(() => undefined);
    });
    line = mine;
    return mine;
  }

  return {
    async query<Row extends QueryResultRow>(query: NamedQuery) {
      if (closed) throw new Error('the database connections are closed');
      return queryOn<Row>(await connected(), query);
    },
    async close() {
      closed = true;
      const ending = line;
      line = null;
      await ending?.then((client) => client.end()).catch(() => undefined);
    },
  };
}
