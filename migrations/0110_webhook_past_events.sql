-- What a webhook was ever subscribed to, or has deliveries of: they may still be sent, or sent again, wherever it points by then. Whoever
-- changes where it points must be allowed to read all of that.
alter table webhooks add column past_events text[] not null default '{}';
update webhooks w set past_events = coalesce(
  (select array_agg(distinct d.event_type) from webhook_deliveries d where d.environment_id = w.environment_id and d.webhook_id = w.id), '{}');
