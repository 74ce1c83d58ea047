-- The audit log in partitions by id, whose first half is the time (docs/decisions/0014). The table that was there is the first of them, for all ids, until the service
-- makes others: no row is read or moved.
-- phase: expand
-- locks: audit_logs access exclusive; environments access exclusive

-- Makes a table of the same name, with the same columns, constraints, indexes, triggers and rights, and the table that was there its only partition, `<name>_first`.
-- That keeps its triggers of deletions: the janitor deletes there by itself. 0519 drops this function.
create function partition_table(name text, key text) returns void language plpgsql as $$
declare
  first text := name || '_first';
  made text[] := '{}';
  one record;
begin
  for one in select conname, pg_get_constraintdef(oid) as definition from pg_constraint where conrelid = name::regclass and contype in ('p', 'u', 'f') order by contype desc loop
    made := made || format('alter table %I add constraint %I %s', name, one.conname, one.definition);
  end loop;
  for one in
    select i.indexrelid::regclass::text as index, pg_get_indexdef(i.indexrelid) as definition, exists (select from pg_constraint k where k.conindid = i.indexrelid) as is_of_constraint
    from pg_index i where i.indrelid = name::regclass order by 1
  loop
    execute format('alter index %s rename to %I', one.index, one.index || '_first');
    if not one.is_of_constraint then made := made || one.definition; end if;
  end loop;
  for one in select tgname, pg_get_triggerdef(oid) as definition, (tgtype & 8) > 0 as is_of_delete from pg_trigger where tgrelid = name::regclass and not tgisinternal loop
    made := made || one.definition;
    if not one.is_of_delete then execute format('drop trigger %I on %I', one.tgname, name); end if;
  end loop;
  for one in
    select a.privilege_type, case a.grantee when 0 then 'public' else a.grantee::regrole::text end as grantee
    from pg_class c cross join aclexplode(c.relacl) a where c.oid = name::regclass and a.grantee <> c.relowner
  loop
    made := made || format('grant %s on %I to %s', one.privilege_type, name, one.grantee);
  end loop;
  execute format('alter table %I rename to %I', name, first);
  execute format('create table %I (like %I including defaults including constraints including generated including storage including identity) partition by range (%I)', name, first, key);
  for i in 1 .. cardinality(made) loop execute made[i]; end loop;
  execute format('alter table %I attach partition %I for values from (minvalue) to (maxvalue)', name, first);
end
$$;

-- Whoever adds a row has read its environment, most of them before: the other way round they and this would wait for each other.
lock table environments in access exclusive mode;
select partition_table('audit_logs', 'id');
