-- Each changed delivery is looked up in the queue by its key, whatever the planner thinks. As one join, planned while the statistics said that the queue is
-- empty (autovacuum had looked after a burst), it read the whole queue for each change: 1.2 s to record 200 attempts with 10,000 waiting.
-- phase: expand
-- locks: none
create or replace function requeue_changed_deliveries() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
declare
  b record;
begin
  for b in select o.environment_id, o.webhook_id, o.next_attempt_at, o.id from before o where o.next_attempt_at is not null loop
    delete from webhook_queue q
    where q.environment_id = b.environment_id and q.webhook_id = b.webhook_id and q.next_attempt_at = b.next_attempt_at and q.delivery_id = b.id;
  end loop;
  insert into webhook_queue (environment_id, webhook_id, next_attempt_at, delivery_id, by_event, lease_id, leased_until)
  select c.environment_id, c.webhook_id, c.next_attempt_at, c.id, c.trigger = 'event', c.lease_id, c.leased_until
  from changed c where c.next_attempt_at is not null;
  insert into troubled_deliveries (environment_id, webhook_id, created_at, delivery_id)
  select c.environment_id, c.webhook_id, c.created_at, c.id from changed c where c.status = 'failed' or c.last_response_status >= 300
  on conflict do nothing;
  return null;
end
$$;
