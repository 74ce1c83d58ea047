-- Every filter of the delivery history answers from an index, also when nothing fits it and a whole period would have to be read.
create index webhook_deliveries_event_type on webhook_deliveries (environment_id, event_type, created_at, id);
-- What went wrong is rare, so this one is small, and a delivery that arrives at once never enters it. The status of the last answer
-- comes last: entries of another one are passed over without a look at the table.
create index webhook_deliveries_troubled on webhook_deliveries (environment_id, webhook_id, created_at, id, last_response_status)
  where status = 'failed' or last_response_status >= 300;
-- Sessions that were ended by hand are few among all.
create index sessions_revoked on sessions (environment_id, created_at, id) where revoked_at is not null;
