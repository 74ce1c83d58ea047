-- Tables of imports that grow with what is brought are vacuumed and analyzed as the others that grow.
-- phase: expand
-- locks: none
alter table user_import_chunks
  set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
alter table user_import_errors
  set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
