import pg from 'pg';
import { afterEach, expect } from 'vitest';
import type { NamedQuery } from '../../src/db/connection/statements/named.js';

/** As much of a connection as is needed to know whose rows it may reach. */
type Connection = pg.Client & { readonly environment_id?: string | null; allowedRows?: string | null };
type Asked = {
  readonly text?: string;
  readonly environment_id?: string;
  readonly queries?: readonly NamedQuery[];
  readonly values?: unknown;
};
type Query = (this: Connection, asked: Asked | string, ...rest: unknown[]) => unknown;

/** Files of a project share the process, and each imports this anew. */
const shared = globalThis as { rowGuard?: { reached: string[]; known: Set<string> } };
const isFirst = shared.rowGuard === undefined;
/** `reached`: statements since the last test that came to another environment's rows. `known`: environments that a transaction may go on with, having made them. */
const { reached, known } = (shared.rowGuard ??= { reached: [], known: new Set() });
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

function note(
  error: { readonly code?: string; readonly message?: string; readonly where?: string } | null | undefined,
  text: string,
): void {
  if (error?.code === 'ENV01') reached.push(`${error.message}: ${text} ${error.where ?? ''}`);
}

/** The environments whose rows the statement may reach, as one text; empty for all of them. */
function allowedBy(connection: Connection, asked: Asked | string, values: unknown): string {
  const query = typeof asked === 'string' ? { text: asked } : asked;
  const { environment_id = null } = connection;
  const own = query.queries ? query.queries.map((one) => one.environment_id) : [query.environment_id ?? environment_id ?? undefined];
  if (own.some((one) => one === undefined)) return '';
  for (const one of own) known.add(one as string);
  const named = environment_id === null ? [] : (JSON.stringify(query.values ?? values ?? null).match(uuid) ?? []);
  if (/^insert into "?environments"? /.test(query.text ?? '')) for (const one of named) known.add(one);
  return [...new Set([environment_id ?? '', ...(own as string[]), ...named.filter((one) => known.has(one))])]
    .filter(Boolean)
    .toSorted()
    .join(' ');
}

/** Before each statement the server is told for whom it is, unless it knows. */
function guardStatements(): void {
  const { query } = pg.Client.prototype as unknown as { query: Query };
  const guarded: Query = function (asked, ...rest) {
    const values = Array.isArray(rest[0]) ? rest[0] : undefined;
    const allowed = allowedBy(this, asked, values);
    const text = typeof asked === 'string' ? asked : (asked.text ?? asked.queries?.map((one) => one.text).join('; ') ?? '');
    const done = rest.at(-1);
    if (typeof done === 'function')
      rest[rest.length - 1] = (error: Error | null, ...answer: unknown[]) => {
        note(error, text);
        // The setting goes back with the transaction in which it was made.
        if (error || /^rollback/i.test(text)) this.allowedRows = null;
        (done as (...given: unknown[]) => void)(error, ...answer);
      };
    const ask = () => query.call(this, asked, ...rest);
    if (this.allowedRows === undefined ? allowed === '' : allowed === this.allowedRows) return ask();
    this.allowedRows = allowed;
    const isStream = typeof done !== 'function';
    query.call(this, `set idp.environments = '${allowed}'`, (error: Error | null) => {
      if (error) this.allowedRows = null;
      if (!isStream) ask();
    });
    // The stream of a COPY is handed back at once, and waits behind the setting.
    return isStream ? ask() : undefined;
  };
  Object.assign(pg.Client.prototype, { query: guarded });
}

if (isFirst) guardStatements();

/** Takes what was noted: for a test of the guard itself. */
export const takeReached = (): string[] => reached.splice(0);

afterEach(() => expect(takeReached(), 'Statements for one environment reached rows of another.').toEqual([]));
