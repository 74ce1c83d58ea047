import pg from 'pg';
import { ownTables } from '../../src/db/backup/tables.js';
import { createKnex } from '../../src/db/connection/knex.js';
import { migrate } from '../../src/db/migrations/migrate.js';
import { createEmptyDatabase } from './database.js';

async function ask<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

/** A digest of all rows of each of the service's tables, whatever their order. */
export async function tableContents(url: string): Promise<Record<string, string>> {
  const names = [...(await ownTables())].sort();
  const parts = names.map(
    (name) =>
      `select '${name}' as name, count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as rows from ${name} t`,
  );
  return Object.fromEntries(
    (await ask<{ name: string; rows: string }>(url, parts.join(' union all '))).map(({ name, rows }) => [name, rows]),
  );
}

/** Every table, column, index, constraint, trigger, function and sequence of the schema, as text. */
export async function schemaOf(url: string): Promise<string[]> {
  const rows = await ask<{ line: string }>(
    url,
    `select line from (
       select format('%s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid)) as line
         from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
         where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'i', 'S')
       union all select indexdef from pg_indexes where schemaname = 'public'
       union all select format('%s %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated) from pg_constraint where connamespace = 'public'::regnamespace
       union all select format('%s %s', pg_get_triggerdef(oid), tgenabled) from pg_trigger where not tgisinternal
       union all select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
     ) as lines order by line`,
  );
  return rows.map(({ line }) => line);
}

/** {@link schemaOf} what the migrations make of an empty database; the template of the tests has a function and policies of its own besides. */
export async function migratedSchema(): Promise<string[]> {
  const made = await createEmptyDatabase();
  const knex = createKnex({ url: made.url, poolMax: 1 });
  await migrate(knex).finally(() => knex.destroy());
  return schemaOf(made.url).finally(made.drop);
}

export const countTables = async (url: string): Promise<number> =>
  Number((await ask<{ count: string }>(url, `select count(*) from pg_tables where schemaname = 'public'`))[0]?.count);
