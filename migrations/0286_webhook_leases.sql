-- Claims that answer each webhook once, and of its deliveries only what is their own: the rows of a claim are mostly of a few webhooks.
-- phase: expand
-- locks: none

-- Leases `rooms[i]` due deliveries of `webhooks[i]`, the oldest from `since[i]` on, for `lease_ms` under the fencing token `lease`; the update
-- touches no indexed column. Answers a row for each webhook asked for that is still there (`id` null), and one for each delivery (`url` null), both with `place`, the i.
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
        where q.environment_id = w.environment_id and q.webhook_id = w.webhook_id
          and q.next_attempt_at >= w.due_at and q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until <= now())
        order by q.next_attempt_at, q.delivery_id limit w.room for update skip locked) q),
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
