-- Every filter of the delivery history answers from an index, also when nothing fits it and a whole period would have to be read.
create index webhook_deliveries_event_type on webhook_deliveries (environment_id, event_type, created_at, id);
-- What went wrong is rare, so this one is small, and a delivery that arrives at once never enters it.
create index webhook_deliveries_troubled on webhook_deliveries (environment_id, webhook_id, created_at, id)
  where status = 'failed' or last_response_status >= 300;
