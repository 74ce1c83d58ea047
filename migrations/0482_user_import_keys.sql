-- What may stand once in the file of an import, of the rows that were taken: a dry run takes its batches back, and an upsert changes whom it has just made.
-- phase: expand
-- locks: user_imports share row exclusive
create table user_import_keys (
  environment_id uuid not null,
  import_id uuid not null,
  key text not null,
  primary key (environment_id, import_id, key),
  foreign key (environment_id, import_id) references user_imports (environment_id, id) on delete cascade
);
alter table user_import_keys
  set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
