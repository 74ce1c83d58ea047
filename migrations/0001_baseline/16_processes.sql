-- What processes tell of themselves, and the limits that they count together.

-- The processes at work, as each tells of itself every half minute: what runs there, how its loops fare, what proxies in front of it say. A row that
-- wasn't renewed for a while belongs to a killed one.
create table processes (
  id uuid primary key,
  host text not null,
  pid integer not null,
  release text not null,
  node text not null,
  base_url text not null,
  pool_max integer not null,
  -- By name: {"pause", "running", "idle"} in seconds, {"failures"} in a row.
  loops jsonb not null,
  -- What sampled requests of the last minutes said of the address that they were sent to: {"sampled", "seen": [...]}.
  forwarded jsonb not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);

-- Who asked how much of a limited resource in the last window: one row per key (a digest of environment, limit and caller), holding
-- the moments (milliseconds of the epoch) and amounts of what was granted. Unlogged: after a crash counting starts anew.
-- No index on expires_at, so that the many updates stay heap-only; the table is no larger than the callers of the last window.
create unlogged table rate_limits (
  key bytea primary key,
  taken_at bigint[] not null,
  amounts integer[] not null,
  expires_at timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- Grants p_cost to p_wanted units of p_limit per sliding window, or none, by the database's clock. More than p_cost is a lease: it may be
-- used during the next p_lease_ms and therefore counts from their end. p_refund units of the lease dated p_refund_at
-- are given back first. With p_cost = 0 it only looks. In a row of 32 grants and more, what falls into the same fiftieth of the window
-- is counted together, at its last moment, so that no row grows without bound.
create function take_rate_limit(
  p_key bytea, p_limit integer, p_window_ms integer, p_cost integer, p_wanted integer, p_lease_ms integer, p_refund integer, p_refund_at bigint
) returns table (granted integer, remaining integer, retry_ms double precision, reset_ms double precision, leased_at double precision)
language plpgsql as $$
declare
  entry rate_limits%rowtype;
  moments bigint[];
  counts integer[];
  used bigint;
  freed bigint := 0;
  left_to_refund integer := p_refund;
  now_ms bigint;
  moment bigint;
  slot_ms integer := greatest(1, p_window_ms / 50);
  last integer;
  back integer;
begin
  if p_cost > 0 or p_refund > 0 then
    loop
      select * into entry from rate_limits r where r.key = p_key for update;
      exit when found or p_cost = 0;
      insert into rate_limits (key, taken_at, amounts, expires_at)
        values (p_key, '{}', '{}', clock_timestamp() + p_window_ms * interval '1 millisecond') on conflict do nothing;
    end loop;
  else
    select * into entry from rate_limits r where r.key = p_key;
  end if;
  now_ms := floor(extract(epoch from clock_timestamp()) * 1000);

  select coalesce(array_agg(t order by t, n), '{}'), coalesce(array_agg(a order by t, n), '{}') into moments, counts
    from unnest(entry.taken_at, entry.amounts) with ordinality as u (t, a, n)
    where t > now_ms - p_window_ms and t <= now_ms + p_window_ms;
  last := coalesce(array_length(moments, 1), 0);
  for i in 1 .. last loop
    if left_to_refund > 0 and moments[i] >= p_refund_at then
      back := least(counts[i], left_to_refund);
      counts[i] := counts[i] - back;
      left_to_refund := left_to_refund - back;
    end if;
  end loop;
  select coalesce(sum(a), 0) into used from unnest(counts) as u (a);

  granted := 0;
  retry_ms := 0;
  if used + greatest(p_cost, 1) > p_limit then
    retry_ms := p_window_ms;
    for i in 1 .. last loop
      freed := freed + counts[i];
      retry_ms := moments[i] + p_window_ms - now_ms;
      exit when used - freed + greatest(p_cost, 1) <= p_limit;
    end loop;
  elsif p_cost > 0 then
    granted := greatest(p_cost, least(p_wanted, (p_limit - used) / 4));
    moment := now_ms + case when granted > p_cost then p_lease_ms else 0 end;
    if last >= 32 and moments[last] / slot_ms = moment / slot_ms then
      moment := greatest(moment, moments[last]);
      moments[last] := moment;
      counts[last] := counts[last] + granted;
    else
      last := last + 1;
      moments[last] := moment;
      counts[last] := granted;
    end if;
    used := used + granted;
  end if;

  if granted > 0 or p_refund > 0 then
    update rate_limits r set taken_at = moments, amounts = counts,
      expires_at = to_timestamp((coalesce((select max(t) from unnest(moments) as u (t)), now_ms) + p_window_ms) / 1000.0) where r.key = p_key;
  end if;
  remaining := greatest(0, p_limit - used);
  reset_ms := coalesce((select max(t) from unnest(moments) as u (t)) + p_window_ms - now_ms, 0);
  leased_at := coalesce(moment, 0);
  return next;
end
$$;
