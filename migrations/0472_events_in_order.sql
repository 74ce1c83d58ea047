-- The feed in its order, with what readers choose by: a stretch of it is judged without reading the events.
-- phase: expand
-- locks: events share, reads its rows
create index events_in_order on events (environment_id, position) include (event_type) where position is not null;
