import type { Connection, FieldDef, QueryResultRow, Submittable } from 'pg';
import type { NamedQuery } from './named.js';

type Column = { readonly name: string; readonly parse: (text: string) => unknown };

/** What one connection knows of its prepared statements: the columns of each one's rows, null until its first answer. */
export type PreparedStatements = Map<string, readonly Column[] | null>;

/** Finds how a type's text is read; a `pg` client's own `getTypeParser`. */
export type TypeParsers = (type: number, format: 'text') => (text: string) => unknown;

function arrayText(values: readonly unknown[]): string {
  const members = values.map((value) => {
    const parameter = parameterOf(value);
    const text = Buffer.isBuffer(parameter) ? `\\x${parameter.toString('hex')}` : parameter;
    return text === null ? 'NULL' : `"${text.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${members.join(',')}}`;
}

/** A value as PostgreSQL reads it in a parameter: bytes as they are, everything else as text. */
function parameterOf(value: unknown): string | Buffer | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return arrayText(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value as number | boolean);
}

/**
 * Named statements that go to the server in one message, and in one transaction: all of them take effect or none (the extended query
 * protocol's implicit transaction, PostgreSQL "Message Flow" 55.2.4). Each sees what those before it did. Beside one round trip and one commit
 * for several statements this saves what `pg` does for each: after a statement's first execution its columns are known and not asked for again.
 */
export class StatementBatch implements Submittable {
  /** Called once, with what went wrong or null; `pg` puts its timer around it. */
  callback: ((error: Error | null) => void) | undefined;
  readonly rows: QueryResultRow[][];
  readonly queries: readonly NamedQuery[];
  readonly #prepared: PreparedStatements;
  readonly #parserOf: TypeParsers;
  #at = 0;

  /** Index of the first statement that was not answered yet; the number of statements when all were. */
  get position(): number {
    return this.#at;
  }

  /** The error that a type's parser threw at a row; null when all could be read. */
  unreadable: Error | null = null;

  constructor(queries: readonly NamedQuery[], prepared: PreparedStatements, parserOf: TypeParsers) {
    this.queries = queries;
    this.#prepared = prepared;
    this.#parserOf = parserOf;
    this.rows = queries.map(() => []);
  }

  /** Whether a statement is prepared by this batch: when it fails, what the connection has prepared isn't known. */
  prepares = false;

  submit(connection: Connection): void {
    connection.stream.cork();
    for (const { name, text, values } of this.queries) {
      if (!this.#prepared.has(name)) {
        this.prepares = true;
        connection.parse({ name, text, types: [] }, true);
        this.#prepared.set(name, null);
      }
      connection.bind({ statement: name, values: values as string[], valueMapper: parameterOf }, true);
      if (this.#prepared.get(name) === null) connection.describe({ type: 'P' }, true);
      connection.execute(null, true);
    }
    connection.sync();
    connection.stream.uncork();
  }

  handleRowDescription({ fields }: { fields: readonly FieldDef[] }): void {
    const columns = fields.map(({ name, dataTypeID }) => ({ name, parse: this.#parserOf(dataTypeID, 'text') }));
    this.#prepared.set((this.queries[this.#at] as NamedQuery).name, columns);
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const columns = this.#prepared.get((this.queries[this.#at] as NamedQuery).name) as readonly Column[];
    const row: QueryResultRow = {};
    try {
      for (let index = 0; index < fields.length; index += 1) {
        const { name, parse } = columns[index] as Column;
        const text = fields[index] as string | null;
        row[name] = text === null ? null : parse(text);
      }
    } catch (error) {
      // Thrown on, it would end the process: nobody called this but the socket.
      this.unreadable = error as Error;
    }
    this.rows[this.#at]?.push(row);
  }

  handleCommandComplete(): void {
    const { name } = this.queries[this.#at] as NamedQuery;
    if (this.#prepared.get(name) === null) this.#prepared.set(name, []);
    this.#at += 1;
  }

  handleReadyForQuery(): void {
    this.#finish(this.unreadable);
  }

  handleError(error: Error): void {
    this.#finish(error);
  }

  #finish(error: Error | null): void {
    const { callback } = this;
    this.callback = undefined;
    callback?.(error);
  }
}
