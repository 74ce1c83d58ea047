-- A webhook says itself how its last attempts went: how many in a row failed, since when, and what was answered last. Counting attempts of a busy one would read them all.
-- phase: expand
-- locks: webhooks access exclusive
alter table webhooks
  add column failing_since timestamptz,
  add column failed_attempt_count integer not null default 0,
  add column last_response_status integer,
  add column last_failure_reason text;
