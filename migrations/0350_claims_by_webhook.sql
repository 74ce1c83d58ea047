-- The due deliveries of each webhook are found by the webhook, whatever the planner thinks. Planned while the statistics said that the queue is empty (autovacuum
-- had looked after a burst), a claim read all that was due, of every webhook, for each of its webhooks: 0.4 s to claim 75 of 5,000.
-- phase: expand
-- locks: none

-- As in 0286, but for the range: a comparison of whole rows, which the primary key alone answers in this order, and not the index by time.
create or replace function lease_due_deliveries(
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
