-- What is due stands apart from the history: a row of the queue is small, and goes when its delivery has ended. The history keeps all of its index
-- entries then: nothing that changes in a delivery is indexed, so that a change stays on its page.
-- phase: expand
-- locks: webhook_deliveries share row exclusive

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
create index webhook_queue_due on webhook_queue (next_attempt_at, delivery_id);

-- Deliveries that failed for good, or were refused once: few among all, and found here by the lists that look for them. What the delivery itself says counts.
create table troubled_deliveries (
  environment_id uuid not null,
  webhook_id uuid not null,
  created_at timestamptz not null,
  delivery_id uuid not null,
  primary key (environment_id, webhook_id, created_at, delivery_id)
);

create function queue_new_delivery() returns trigger language plpgsql as $$
begin
  if new.next_attempt_at is not null then
    insert into webhook_queue (environment_id, webhook_id, next_attempt_at, delivery_id, by_event, lease_id, leased_until)
    values (new.environment_id, new.webhook_id, new.next_attempt_at, new.id, new.trigger = 'event', new.lease_id, new.leased_until);
  end if;
  if new.status = 'failed' or new.last_response_status >= 300 then
    insert into troubled_deliveries (environment_id, webhook_id, created_at, delivery_id)
    values (new.environment_id, new.webhook_id, new.created_at, new.id);
  end if;
  return null;
end
$$;
create trigger webhook_deliveries_inserted after insert on webhook_deliveries for each row
  when (new.next_attempt_at is not null or new.status = 'failed' or new.last_response_status >= 300)
  execute function queue_new_delivery();

-- Moves what has another time now and drops what has ended. A change ends the lease, unless it sets one (as the release before does).
create function requeue_changed_deliveries() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
begin
  delete from webhook_queue q using before b
  where q.environment_id = b.environment_id and q.webhook_id = b.webhook_id and q.next_attempt_at = b.next_attempt_at and q.delivery_id = b.id;
  insert into webhook_queue (environment_id, webhook_id, next_attempt_at, delivery_id, by_event, lease_id, leased_until)
  select c.environment_id, c.webhook_id, c.next_attempt_at, c.id, c.trigger = 'event', c.lease_id, c.leased_until
  from changed c where c.next_attempt_at is not null;
  insert into troubled_deliveries (environment_id, webhook_id, created_at, delivery_id)
  select c.environment_id, c.webhook_id, c.created_at, c.id from changed c where c.status = 'failed' or c.last_response_status >= 300
  on conflict do nothing;
  return null;
end
$$;
create trigger webhook_deliveries_changed after update on webhook_deliveries
  referencing old table as before new table as changed for each statement
  execute function requeue_changed_deliveries();

create function forget_deleted_deliveries() returns trigger language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
begin
  delete from webhook_queue q using gone g
  where q.environment_id = g.environment_id and q.webhook_id = g.webhook_id and q.next_attempt_at = g.next_attempt_at and q.delivery_id = g.id;
  delete from troubled_deliveries t using gone g
  where t.environment_id = g.environment_id and t.webhook_id = g.webhook_id and t.created_at = g.created_at and t.delivery_id = g.id;
  delete from webhook_delivery_attempts a using gone g where a.environment_id = g.environment_id and a.delivery_id = g.id;
  return null;
end
$$;
create trigger webhook_deliveries_deleted after delete on webhook_deliveries referencing old table as gone for each statement
  execute function forget_deleted_deliveries();

-- As before, of the queue. These keep to its indexes whatever the statistics say, which right after a burst are those of an empty table.

create or replace function recently_due_webhooks(most integer, seconds double precision)
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

create or replace function waiting_webhooks(after_environment uuid, after_webhook uuid, most integer)
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

create or replace function next_due_webhook_delivery() returns timestamptz
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
  return (select q.next_attempt_at from webhook_queue q where q.next_attempt_at > now() order by q.next_attempt_at, q.delivery_id limit 1);
end
$$;

create or replace function oldest_due_webhook_delivery() returns timestamptz
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
  return (select q.next_attempt_at from webhook_queue q
          where q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until <= now())
          order by q.next_attempt_at, q.delivery_id limit 1);
end
$$;

-- Leases `rooms[i]` due deliveries of `webhooks[i]`, the oldest from `since[i]` on, for `lease_ms` under the fencing token `lease`. The update
-- touches no indexed column.
create function lease_webhook_deliveries(
  environments uuid[], webhooks_wanted uuid[], since timestamptz[], rooms integer[], lease uuid, lease_ms double precision)
returns table (
  environment_id uuid, id uuid, webhook_id uuid, event_id uuid, event_type text, payload text, trigger text, attempt_count integer,
  next_attempt_at timestamptz, url text, secret_sealed bytea, previous_secret_sealed bytea, previous_secret_expires_at timestamptz,
  webhook_status text)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    with wanted as (
      select * from unnest(environments, webhooks_wanted, since, rooms) as w (environment_id, webhook_id, due_at, room)),
    picked as materialized (
      select q.row from wanted w cross join lateral (
        select q.ctid as row from webhook_queue q
        where q.environment_id = w.environment_id and q.webhook_id = w.webhook_id
          and q.next_attempt_at >= w.due_at and q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until <= now())
        order by q.next_attempt_at, q.delivery_id limit w.room for update skip locked) q),
    leased as (
      update webhook_queue q set lease_id = lease, leased_until = now() + make_interval(secs => lease_ms / 1000)
      from picked p where q.ctid = p.row
      returning q.environment_id, q.delivery_id)
    select d.environment_id, d.id, d.webhook_id, d.event_id, d.event_type, d.payload, d.trigger, d.attempt_count, d.next_attempt_at,
      w.url, w.secret_sealed, w.previous_secret_sealed, w.previous_secret_expires_at, w.status
    from leased l
      join webhook_deliveries d on d.environment_id = l.environment_id and d.id = l.delivery_id
      left join webhooks w on w.environment_id = d.environment_id and w.id = d.webhook_id;
end
$$;

-- For processes of the release before: they look for their lease at the delivery itself, and the trigger copies it into the queue.
create or replace function claim_webhook_deliveries(
  environments uuid[], webhooks_wanted uuid[], since timestamptz[], rooms integer[], lease uuid, lease_ms double precision)
returns table (
  environment_id uuid, id uuid, webhook_id uuid, event_id uuid, event_type text, payload text, trigger text, attempt_count integer,
  next_attempt_at timestamptz, url text, secret_sealed bytea, previous_secret_sealed bytea, previous_secret_expires_at timestamptz,
  webhook_status text)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    with wanted as (
      select * from unnest(environments, webhooks_wanted, since, rooms) as w (environment_id, webhook_id, due_at, room)),
    picked as materialized (
      select q.* from wanted w cross join lateral (
        select q.environment_id, q.webhook_id, q.delivery_id from webhook_queue q
        where q.environment_id = w.environment_id and q.webhook_id = w.webhook_id
          and q.next_attempt_at >= w.due_at and q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until <= now())
        order by q.next_attempt_at, q.delivery_id limit w.room for update skip locked) q)
    update webhook_deliveries d
    set lease_id = lease, leased_until = now() + make_interval(secs => lease_ms / 1000)
    from picked p left join webhooks w on w.environment_id = p.environment_id and w.id = p.webhook_id
    where d.environment_id = p.environment_id and d.id = p.delivery_id
    returning d.environment_id, d.id, d.webhook_id, d.event_id, d.event_type, d.payload, d.trigger, d.attempt_count, d.next_attempt_at,
      w.url, w.secret_sealed, w.previous_secret_sealed, w.previous_secret_expires_at, w.status;
end
$$;
