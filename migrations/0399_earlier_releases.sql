-- What only processes of earlier releases used: two ways to claim deliveries, leases at the deliveries themselves, and the kinds of imported password hashes.
-- phase: contract
-- locks: users access exclusive; webhook_deliveries access exclusive

-- Rows of before fulfil these too, for they were made under narrower ones. Before anything is locked.
alter table audit_logs validate constraint audit_logs_outcome_check;
alter table audit_logs validate constraint audit_logs_actor_kind_check;

create or replace function queue_new_delivery() returns trigger language plpgsql as $$
begin
  if new.next_attempt_at is not null then
    insert into webhook_queue (environment_id, webhook_id, next_attempt_at, delivery_id, by_event)
    values (new.environment_id, new.webhook_id, new.next_attempt_at, new.id, new.trigger = 'event');
  end if;
  if new.status = 'failed' or new.last_response_status >= 300 then
    insert into troubled_deliveries (environment_id, webhook_id, created_at, delivery_id)
    values (new.environment_id, new.webhook_id, new.created_at, new.id);
  end if;
  return null;
end
$$;

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
  insert into webhook_queue (environment_id, webhook_id, next_attempt_at, delivery_id, by_event)
  select c.environment_id, c.webhook_id, c.next_attempt_at, c.id, c.trigger = 'event' from changed c where c.next_attempt_at is not null;
  insert into troubled_deliveries (environment_id, webhook_id, created_at, delivery_id)
  select c.environment_id, c.webhook_id, c.created_at, c.id from changed c where c.status = 'failed' or c.last_response_status >= 300
  on conflict do nothing;
  return null;
end
$$;

drop function claim_webhook_deliveries(uuid[], uuid[], timestamptz[], integer[], uuid, double precision);
drop function lease_webhook_deliveries(uuid[], uuid[], timestamptz[], integer[], uuid, double precision);
alter table webhook_deliveries drop column lease_id, drop column leased_until;

drop index users_imported_password;
drop function password_hash_kind(text);
