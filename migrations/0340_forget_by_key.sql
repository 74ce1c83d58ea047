-- Each deleted delivery is looked up in the queue and among the troubled by its key, whatever the planner thinks. As joins, planned while the statistics said that
-- these are empty (autovacuum had looked after a burst), they compared all that waits with all that went: 1.7 s to delete 200 that had ended with 5,000 waiting.
-- phase: expand
-- locks: none
create or replace function forget_deleted_deliveries() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
declare
  g record;
begin
  for g in select o.environment_id, o.webhook_id, o.next_attempt_at, o.created_at, o.id from gone o loop
    -- What has ended waits for nothing.
    if g.next_attempt_at is not null then
      delete from webhook_queue q
      where q.environment_id = g.environment_id and q.webhook_id = g.webhook_id and q.next_attempt_at = g.next_attempt_at and q.delivery_id = g.id;
    end if;
    delete from troubled_deliveries t
    where t.environment_id = g.environment_id and t.webhook_id = g.webhook_id and t.created_at = g.created_at and t.delivery_id = g.id;
  end loop;
  delete from webhook_delivery_attempts a using gone d where a.environment_id = d.environment_id and a.delivery_id = d.id;
  return null;
end
$$;
