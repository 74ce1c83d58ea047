import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';

/** What a migrated database holds before anybody has used it. */
export type InitialState = {
  readonly shape: string;
  /** Statements that put its rows and sequences back. */
  readonly restored: string;
};

/** Of everything in the catalogue that a statement of a test may have changed, the transaction that wrote it: a clone has the template's. */
const shapeOf = `
  select md5(string_agg(line, ' ' order by line)) as shape from (
    select format('relation %s %s', oid, xmin) as line from pg_class where relnamespace = 'public'::regnamespace
    union all select format('column %s %s %s', attrelid, attnum, a.xmin) from pg_attribute a join pg_class c on c.oid = attrelid
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
    union all select format('default %s %s', oid, xmin) from pg_attrdef
    union all select format('index %s %s', indexrelid, xmin) from pg_index where indexrelid >= 16384
    union all select format('constraint %s %s', oid, xmin) from pg_constraint where connamespace = 'public'::regnamespace
    union all select format('trigger %s %s', oid, xmin) from pg_trigger
    union all select format('function %s %s', oid, xmin) from pg_proc where oid >= 16384
    union all select format('type %s %s', oid, xmin) from pg_type where typnamespace = 'public'::regnamespace
    union all select format('policy %s %s', oid, xmin) from pg_policy
    union all select format('schema %s %s', oid, xmin) from pg_namespace where nspname not like 'pg_%temp_%'
    union all select format('extension %s %s', oid, xmin) from pg_extension
    union all select format('publication %s %s', oid, xmin) from pg_publication
    union all select format('setting %s', setconfig) from pg_db_role_setting s join pg_database d on d.oid = setdatabase where datname = current_database()
  ) as lines`;

/** Rows that were deleted leave their space behind: from here on a new clone is cheaper. */
const largestBytes = 48 * 1024 * 1024;

/** @returns the state of a database that nobody has used; null where the role may not set aside triggers and foreign keys, which emptying takes */
export async function initialState(client: pg.Client): Promise<InitialState | null> {
  const { rows: roles } = await client.query<{ may: boolean }>(`select has_parameter_privilege('session_replication_role', 'set') as may`);
  if (!roles[0]?.may) return null;
  const tables = await client.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0`,
  );
  const statements: string[] = [];
  for (const { name } of tables.rows) {
    const { rows } = await client.query<{ rows: string }>(`select json_agg(t)::text as rows from ${name} t`);
    statements.push(
      `insert into ${name} select * from json_populate_recordset(null::${name}, ${client.escapeLiteral(rows[0]?.rows ?? '[]')})`,
    );
  }
  const sequences = await client.query<{ statement: string }>(
    `select format('select setval(%L, %s, %L)', format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value), last_value is not null) as statement from pg_sequences`,
  );
  const restored = [...statements, ...sequences.rows.map(({ statement }) => statement)].join(';\n');
  return { shape: await currentShape(client), restored };
}

const currentShape = async (client: pg.Client): Promise<string> => (await client.query<{ shape: string }>(shapeOf)).rows[0]?.shape ?? '';

/** Whether nobody else is connected, now or soon: a connection that was closed a moment ago ends within milliseconds. */
async function isAlone(client: pg.Client): Promise<boolean> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const { rowCount } = await client.query(
      `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
    );
    if (rowCount === 0) return true;
    await delay(20);
  }
  return false;
}

/**
 * Takes everything out of a database that its tests put in.
 * @returns false when it can't become what it was: somebody is still connected, its schema was changed, or it has grown large
 */
export async function empty(client: pg.Client, initial: InitialState): Promise<boolean> {
  if (!(await isAlone(client)) || (await currentShape(client)) !== initial.shape) return false;
  const { rows } = await client.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
  if (Number(rows[0]?.bytes) > largestBytes) return false;
  await client.query(`
    begin;
    set local session_replication_role = replica;
    do $$ declare used regclass; begin
      for used in select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0
      loop execute format('delete from %s', used); end loop;
    end $$;
    ${initial.restored};
    commit`);
  return true;
}
