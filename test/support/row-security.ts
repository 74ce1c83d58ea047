import type { Knex } from 'knex';

/**
 * PostgreSQL's row-level security, on for the whole suite: a statement that was asked for one environment, and comes to a row of another, fails, and with it
 * the test. What the statement asks for by key and by its own conditions is compared first, so only what it leaves open gets here. Work on all environments
 * (loops, the outbox, a test's own statements) is let through, and so are other processes.
 */
export const rowSecurity = `
create function own_rows_only(owner uuid, name text) returns boolean language plpgsql stable parallel safe cost 10 as $$
declare
  allowed text := current_setting('idp.environments', true);
begin
  if coalesce(allowed, '') = '' or owner is null or position(owner::text in allowed) > 0 then return true; end if;
  -- The trigger that queues entries for log streams asks whether there is any stream at all, before it looks for those of the entry's environment.
  if name = 'log_streams' and pg_trigger_depth() > 0 then return true; end if;
  raise exception 'a statement for environment % reaches a row of environment % in %', allowed, owner, name using errcode = 'ENV01';
end $$;
do $$
declare
  scoped text;
begin
  for scoped in select c.table_name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and c.column_name = 'environment_id' and t.table_type = 'BASE TABLE'
  loop
    execute format('alter table %I enable row level security, force row level security', scoped);
    execute format('create policy own_rows on %I using (coalesce(current_setting(''idp.environments'', true), '''') in ('''', environment_id::text) or own_rows_only(environment_id, %L))', scoped, scoped);
  end loop;
end $$;`;

/** For tests of plans, which conditions that production doesn't have would change. */
export async function withoutRowSecurity(knex: Knex): Promise<void> {
  const { rows } = await knex.raw<{ rows: { name: string }[] }>(`select tablename as name from pg_policies where policyname = 'own_rows'`);
  for (const { name } of rows) await knex.raw('alter table ?? disable row level security', [name]);
}
