import type { Knex } from 'knex';
import { migrationsTable } from '../migrations/baseline.js';
import { migrationNames, readMigration } from '../migrations/migrate.js';

/** A table and those of its columns that hold what was stored, not what PostgreSQL computes of it. */
export type TableShape = { readonly name: string; readonly columns: readonly string[] };

/** Where a sequence stands; `is_called` false: its next value is `last_value` itself. */
export type SequenceState = { readonly name: string; readonly last_value: string; readonly is_called: boolean };

/** What processes tell each other while they run. None of them is there after a restore. */
const ofProcesses = new Set(['cache_changes', 'secret_key_holders', 'processes', 'knex_migrations_lock']);

const created = /^create\s+table\s+(?:if\s+not\s+exists\s+)?(\w+)/gim;

/** The tables that the migrations make, without unlogged ones, whose content a crash would take too. What else lies in the schema isn't the service's. */
export async function ownTables(): Promise<ReadonlySet<string>> {
  const texts = await Promise.all((await migrationNames()).map(readMigration));
  const names = texts.flatMap((text) => [...text.matchAll(created)].map((match) => match[1] as string));
  return new Set([migrationsTable, ...names].filter((name) => !ofProcesses.has(name)));
}

/** A name as SQL writes it. */
export const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export async function listTables(knex: Knex): Promise<TableShape[]> {
  const own = await ownTables();
  const { rows } = await knex.raw<{ rows: { name: string; columns: string[] }[] }>(`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p'
    group by c.relname order by c.relname`);
  return rows.filter(({ name }) => own.has(name));
}

/** The tables of the schema that belong to no extension: any at all, and the database isn't empty. */
export async function listAllTables(knex: Knex): Promise<string[]> {
  const { rows } = await knex.raw<{ rows: { name: string }[] }>(`
    select c.relname as name from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'f')
      and not exists (select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    order by 1`);
  return rows.map(({ name }) => name);
}

export async function countRows(knex: Knex, names: readonly string[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const name of names) {
    const { rows } = await knex.raw<{ rows: { count: number }[] }>(`select count(*) as count from ${quotedName(name)}`);
    counts.set(name, Number(rows[0]?.count));
  }
  return counts;
}

export async function listSequences(knex: Knex, names: readonly string[]): Promise<SequenceState[]> {
  const { rows } = await knex.raw<{ rows: { name: string }[] }>(
    `select s.relname as name from pg_class s
     join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
     join pg_class t on t.oid = d.refobjid
     where s.relkind = 'S' and s.relnamespace = current_schema()::regnamespace and t.relname = any (?) order by 1`,
    [[...names]],
  );
  const states: SequenceState[] = [];
  for (const { name } of rows) {
    const found = await knex.raw<{ rows: Omit<SequenceState, 'name'>[] }>(`select last_value::text, is_called from ${quotedName(name)}`);
    states.push({ name, ...(found.rows[0] as Omit<SequenceState, 'name'>) });
  }
  return states;
}
