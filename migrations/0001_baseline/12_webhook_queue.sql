-- The queue of deliveries apart from their history (docs/decisions/0009): tables, the triggers that keep them, and the functions that claim.

-- What is due stands apart from the history: a row of the queue is small, and goes when its delivery has ended. The history keeps all of its index
-- entries then: nothing that changes in a delivery is indexed, so that a change stays on its page.
-- A row for each delivery with a `next_attempt_at`. Triggers of webhook_deliveries keep it so, whoever writes there.
create table webhook_queue (
  environment_id uuid not null,
  webhook_id uuid not null,
  next_attempt_at timestamptz not null,
  delivery_id uuid not null,
  -- Disabling a webhook ends what an event caused, and leaves what was sent by hand.
  by_event boolean not null,
  -- A claim: who holds the delivery (fencing token) and until when; another process takes it after that.
  lease_id uuid,
  leased_until timestamptz,
  -- A due delivery is found by its webhook, so that one webhook's backlog hides nobody else's.
  primary key (environment_id, webhook_id, next_attempt_at, delivery_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Deliveries that failed for good, or were refused once: few among all, and found here by the lists that look for them. What the delivery itself says counts.
create table troubled_deliveries (
  environment_id uuid not null,
  webhook_id uuid not null,
  created_at timestamptz not null,
  delivery_id uuid not null,
  primary key (environment_id, webhook_id, created_at, delivery_id)
);

create index webhook_queue_due on webhook_queue (next_attempt_at, delivery_id);

-- A new delivery that is due enters the queue in the statement that stores it, and one that has failed already is noted.
create function queue_new_delivery() returns trigger language plpgsql as $$
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

-- Moves what has another time now and drops what has ended. A change ends the lease.
-- Each changed delivery is looked up in the queue by its key, whatever the planner thinks. As one join, planned while the statistics said that the queue is
-- empty (autovacuum had looked after a burst), it read the whole queue for each change: 1.2 s to record 200 attempts with 10,000 waiting.
create function requeue_changed_deliveries() returns trigger language plpgsql
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

-- Each deleted delivery is looked up in the queue and among the troubled by its key, whatever the planner thinks. As joins, planned while the statistics said that
-- these are empty (autovacuum had looked after a burst), they compared all that waits with all that went: 1.7 s to delete 200 that had ended with 5,000 waiting.
create function forget_deleted_deliveries() returns trigger language plpgsql
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

-- The queue's statements read the first few entries of an ordered index. Right after a burst the statistics say that the queue is empty, and the
-- planner would rather sort all that waits: these functions keep to the index, whatever the statistics say, and plan once.
create function recently_due_webhooks(most integer, seconds double precision)
returns table (environment_id uuid, webhook_id uuid, due_at timestamptz, seen integer)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    select r.environment_id, r.webhook_id, min(r.next_attempt_at), (sum(count(*)) over ())::integer
    from (select q.environment_id, q.webhook_id, q.next_attempt_at from webhook_queue q
          where q.next_attempt_at > now() - make_interval(secs => seconds) and q.next_attempt_at <= now()
            and (q.leased_until is null or q.leased_until <= now())
          order by q.next_attempt_at, q.delivery_id limit most) r
    group by r.environment_id, r.webhook_id;
end
$$;

create function waiting_webhooks(after_environment uuid, after_webhook uuid, most integer)
returns table (environment_id uuid, webhook_id uuid, due_at timestamptz, is_due boolean)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    with recursive waiting as (
      (select q.environment_id, q.webhook_id, q.next_attempt_at from webhook_queue q
       where (q.environment_id, q.webhook_id) > (after_environment, after_webhook)
       order by q.environment_id, q.webhook_id, q.next_attempt_at, q.delivery_id limit 1)
      union all
      select n.environment_id, n.webhook_id, n.next_attempt_at
      from waiting w cross join lateral (
        select q.environment_id, q.webhook_id, q.next_attempt_at from webhook_queue q
        where (q.environment_id, q.webhook_id) > (w.environment_id, w.webhook_id)
        order by q.environment_id, q.webhook_id, q.next_attempt_at, q.delivery_id limit 1) n)
    select w.environment_id, w.webhook_id, w.next_attempt_at, w.next_attempt_at <= now() from waiting w limit most;
end
$$;

create function next_due_webhook_delivery() returns timestamptz
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
  return (select q.next_attempt_at from webhook_queue q where q.next_attempt_at > now() order by q.next_attempt_at, q.delivery_id limit 1);
end
$$;

create function oldest_due_webhook_delivery() returns timestamptz
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
  return (select q.next_attempt_at from webhook_queue q
          where q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until <= now())
          order by q.next_attempt_at, q.delivery_id limit 1);
end
$$;

-- Leases `rooms[i]` due deliveries of `webhooks[i]`, the oldest from `since[i]` on, for `lease_ms` under the fencing token `lease`; the update
-- touches no indexed column. Answers a row for each webhook asked for that is still there (`id` null), and one for each delivery (`url` null), both with `place`, the i.
-- The due deliveries of each webhook are found by the webhook, whatever the planner thinks: planned while the statistics said that the queue is empty (autovacuum
-- had looked after a burst), a claim read all that was due, of every webhook, for each of its webhooks: 0.4 s to claim 75 of 5,000.
-- Hence the range as a comparison of whole rows, which the primary key alone answers in this order, and not the index by time.
create function lease_due_deliveries(
  environments uuid[], webhooks_wanted uuid[], since timestamptz[], rooms integer[], lease uuid, lease_ms double precision)
returns table (
  place integer, id uuid, event_id uuid, event_type text, payload text, trigger text, attempt_count integer, next_attempt_at timestamptz,
  url text, secret_sealed bytea, previous_secret_sealed bytea, previous_secret_expires_at timestamptz, status text)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    with wanted as (
      select w.environment_id, w.webhook_id, w.due_at, w.room, w.i::integer as place
      from unnest(environments, webhooks_wanted, since, rooms) with ordinality as w (environment_id, webhook_id, due_at, room, i)),
    picked as materialized (
      select q.row, w.place from wanted w cross join lateral (
        select q.ctid as row from webhook_queue q
        where (q.environment_id, q.webhook_id, q.next_attempt_at) >= (w.environment_id, w.webhook_id, w.due_at)
          and (q.environment_id, q.webhook_id, q.next_attempt_at) <= (w.environment_id, w.webhook_id, now())
          and (q.leased_until is null or q.leased_until <= now())
        order by q.environment_id, q.webhook_id, q.next_attempt_at, q.delivery_id limit w.room for update skip locked) q),
    leased as (
      update webhook_queue q set lease_id = lease, leased_until = now() + make_interval(secs => lease_ms / 1000)
      from picked p where q.ctid = p.row
      returning q.environment_id, q.delivery_id, p.place)
    select l.place, d.id, d.event_id, d.event_type, d.payload, d.trigger, d.attempt_count, d.next_attempt_at,
      null::text, null::bytea, null::bytea, null::timestamptz, null::text
    from leased l join webhook_deliveries d on d.environment_id = l.environment_id and d.id = l.delivery_id
    union all
    select w.place, null, null, null, null, null, null, null,
      h.url, h.secret_sealed, h.previous_secret_sealed, h.previous_secret_expires_at, h.status
    from wanted w join webhooks h on h.environment_id = w.environment_id and h.id = w.webhook_id;
end
$$;

create trigger webhook_deliveries_inserted after insert on webhook_deliveries for each row
  when (new.next_attempt_at is not null or new.status = 'failed' or new.last_response_status >= 300)
  execute function queue_new_delivery();
create trigger webhook_deliveries_changed after update on webhook_deliveries
  referencing old table as before new table as changed for each statement
  execute function requeue_changed_deliveries();
create trigger webhook_deliveries_deleted after delete on webhook_deliveries referencing old table as gone for each statement
  execute function forget_deleted_deliveries();
