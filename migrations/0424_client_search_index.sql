-- Any part of a client's name or id: clients that register themselves can be many.
-- phase: expand
-- locks: clients share, reads its rows
create index clients_search on clients using gin ((lower(' ' || name || ' ' || id)) gin_trgm_ops);
