-- The queue's statements read the first few entries of an ordered index. Right after a burst the statistics say that the queue is empty, and the
-- planner would rather sort all of a webhook's deliveries: these functions keep to the index, whatever the statistics say, and plan once.

create function recently_due_webhooks(most integer, seconds double precision)
returns table (environment_id uuid, webhook_id uuid, due_at timestamptz, seen integer)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    select r.environment_id, r.webhook_id, min(r.next_attempt_at), (sum(count(*)) over ())::integer
    from (select d.environment_id, d.webhook_id, d.next_attempt_at from webhook_deliveries d
          where d.next_attempt_at > now() - make_interval(secs => seconds) and d.next_attempt_at <= now()
            and (d.leased_until is null or d.leased_until <= now())
          order by d.next_attempt_at, d.id limit most) r
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
      (select d.environment_id, d.webhook_id, d.next_attempt_at from webhook_deliveries d
       where d.next_attempt_at is not null and (d.environment_id, d.webhook_id) > (after_environment, after_webhook)
       order by d.environment_id, d.webhook_id, d.next_attempt_at, d.id limit 1)
      union all
      select n.environment_id, n.webhook_id, n.next_attempt_at
      from waiting w cross join lateral (
        select d.environment_id, d.webhook_id, d.next_attempt_at from webhook_deliveries d
        where d.next_attempt_at is not null and (d.environment_id, d.webhook_id) > (w.environment_id, w.webhook_id)
        order by d.environment_id, d.webhook_id, d.next_attempt_at, d.id limit 1) n)
    select w.environment_id, w.webhook_id, w.next_attempt_at, w.next_attempt_at <= now() from waiting w limit most;
end
$$;

create function next_due_webhook_delivery() returns timestamptz
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
  return (select d.next_attempt_at from webhook_deliveries d where d.next_attempt_at > now() order by d.next_attempt_at, d.id limit 1);
end
$$;

create function oldest_due_webhook_delivery() returns timestamptz
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
  return (select d.next_attempt_at from webhook_deliveries d
          where d.next_attempt_at <= now() and (d.leased_until is null or d.leased_until <= now())
          order by d.next_attempt_at, d.id limit 1);
end
$$;

-- Claims `rooms[i]` due deliveries of `webhooks[i]`, the oldest from `since[i]` on, for `lease_ms` under the fencing token `lease`.
-- The update touches no indexed column.
create function claim_webhook_deliveries(
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
      select d.* from wanted w cross join lateral (
        select d.environment_id, d.webhook_id, d.id from webhook_deliveries d
        where d.environment_id = w.environment_id and d.webhook_id = w.webhook_id
          and d.next_attempt_at >= w.due_at and d.next_attempt_at <= now() and (d.leased_until is null or d.leased_until <= now())
        order by d.next_attempt_at, d.id limit w.room for update skip locked) d)
    update webhook_deliveries d
    set lease_id = lease, leased_until = now() + make_interval(secs => lease_ms / 1000)
    from picked p left join webhooks w on w.environment_id = p.environment_id and w.id = p.webhook_id
    where d.environment_id = p.environment_id and d.id = p.id
    returning d.environment_id, d.id, d.webhook_id, d.event_id, d.event_type, d.payload, d.trigger, d.attempt_count, d.next_attempt_at,
      w.url, w.secret_sealed, w.previous_secret_sealed, w.previous_secret_expires_at, w.status;
end
$$;
