import type { Client } from 'pg';
import { ownTables } from '../backup/tables.js';

/** A table with rows of environments, and those of its columns that PostgreSQL doesn't compute, in an order that doesn't depend on when they were added. */
export type MovedTable = { readonly name: string; readonly columns: readonly string[] };

/** Of what moves nothing is in these: `environments` has its own key, and what is unlogged isn't replicated (`carryUnlogged`). */
const text = `
  select c.relname as name, array_agg(quote_ident(a.attname) order by a.attname) as columns
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = $2 and ($1::text[] is null or c.relname = any ($1))
  group by c.relname having bool_or(a.attname = 'environment_id') order by c.relname`;

/** Every permanent table that has rows of environments: the tables of a backup, without those that belong to the whole installation. */
export const listMovedTables = async (client: Client): Promise<MovedTable[]> =>
  (await client.query<MovedTable>(text, [[...(await ownTables())], 'p'])).rows;

/** The same of unlogged ones, which hold what may only be used once for some minutes. */
export const listUnloggedTables = async (client: Client): Promise<MovedTable[]> => (await client.query<MovedTable>(text, [null, 'u'])).rows;

/** Takes the rows of unlogged tables along: the environment is held here, and there. */
export async function carryUnlogged(source: Client, target: Client, id: string): Promise<void> {
  for (const { name, columns } of await listUnloggedTables(source)) {
    const list = columns.join(', ');
    const { rows } = await source.query<{ rows: string | null }>(
      `select json_agg(r)::text as rows from (select ${list} from ${name} where environment_id = $1) r`,
      [id],
    );
    await target.query(
      `insert into ${name} (${list}) select ${list} from json_populate_recordset(null::${name}, $1::json) on conflict do nothing`,
      [rows[0]?.rows ?? '[]'],
    );
  }
}

/** How many rows an environment has in a table, and a digest of them. */
export type Digest = { readonly name: string; readonly rows: number; readonly digest: string };

/** Digests of the environment's rows by table. Rows of both sides read alike: the form of times and bytes is set. */
export async function digestTables(client: Client, tables: readonly MovedTable[], id: string): Promise<Digest[]> {
  await client.query(`set timezone = 'UTC'; set datestyle = 'ISO'; set bytea_output = 'hex'; set extra_float_digits = 1`);
  const digests: Digest[] = [];
  for (const { name, columns } of tables) {
    const { rows } = await client.query<{ rows: string; digest: string }>(
      `select count(*) as rows, coalesce(sum(hashtextextended(row(${columns.join(', ')})::text, 0)::numeric), 0)::text as digest
       from ${name} where environment_id = $1`,
      [id],
    );
    digests.push({ name, rows: Number(rows[0]?.rows), digest: rows[0]?.digest ?? '' });
  }
  return digests;
}

/** Deletes the environment with every row of it: first what hangs on it, then what no foreign key holds. */
export async function deleteEnvironmentRows(client: Client, tables: readonly MovedTable[], id: string): Promise<void> {
  await client.query('delete from environments where id = $1', [id]);
  // What deleting one table notes in another goes with the second turn.
  for (const { name } of [...tables, ...tables]) await client.query(`delete from ${name} where environment_id = $1`, [id]);
}
