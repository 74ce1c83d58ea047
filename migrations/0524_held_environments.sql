-- Environments that move to another cell: held while the last of their rows follow, then served there. What works for all environments passes a held one by.
-- phase: expand
-- locks: environments access exclusive, reads its rows
alter table environments add column held_at timestamptz, add column moved_at timestamptz;
create index environments_held on environments (id) where held_at is not null;

create function held_environments() returns uuid[] language sql stable as $$
  select coalesce(array_agg(id), '{}') from environments where held_at is not null
$$;

-- Whether rows of the environment may still be written: it is there, and not held for long enough that what had begun before is over.
create function takes_writes(environment uuid) returns boolean language sql volatile as $$
  select exists (select from environments where id = environment and (held_at is null or held_at > clock_timestamp() - interval '1500 milliseconds'))
$$;

-- A trigger of every table while an environment moves (`idp environments move`), of its rows alone. Whoever writes shares a lock with all who write; whoever
-- moves the environment takes it alone once it is held, and then nobody who came before it has anything left to commit, and nobody after it gets here.
create function refuse_held_writes() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('held ' || tg_argv[0], 0));
  if not takes_writes(tg_argv[0]::uuid) then
    raise exception 'the environment is held' using errcode = 'ENV02';
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  return new;
end
$$;

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
            and (q.leased_until is null or q.leased_until <= now()) and q.environment_id <> all ((select held_environments())::uuid[])
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
    select w.environment_id, w.webhook_id, w.next_attempt_at, w.next_attempt_at <= now() and w.environment_id <> all ((select held_environments())::uuid[])
    from waiting w limit most;
end
$$;

create or replace function next_due_webhook_delivery() returns timestamptz
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
  return (select q.next_attempt_at from webhook_queue q where q.next_attempt_at > now() and q.environment_id <> all ((select held_environments())::uuid[])
    order by q.next_attempt_at, q.delivery_id limit 1);
end
$$;

create or replace function oldest_due_webhook_delivery() returns timestamptz
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
  return (select q.next_attempt_at from webhook_queue q
          where q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until <= now()) and q.environment_id <> all ((select held_environments())::uuid[])
          order by q.next_attempt_at, q.delivery_id limit 1);
end
$$;

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
      from unnest(environments, webhooks_wanted, since, rooms) with ordinality as w (environment_id, webhook_id, due_at, room, i)
      where w.environment_id <> all ((select held_environments())::uuid[])),
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

create or replace function number_events(most integer, out numbered integer, out unnumbered integer) language plpgsql as $$
declare
  last bigint;
  here text;
  held constant uuid[] := held_environments();
begin
  numbered := 0;
  if exists (select from events where position is null and seq is not null and environment_id <> all (held))
    and pg_try_advisory_xact_lock(hashtextextended('event_feed', 0)) then
    here := format('%s/%s/%s', (select system_identifier from pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8),
      (select oid from pg_database where datname = current_database()));
    insert into event_feed (position, lineage) values (0, here)
    on conflict (id) do update set lineage = here,
      position = event_feed.position + case when event_feed.lineage = here then 0 else 4294967296 end
    returning position into last;
    update events e set position = last + n.number
    from (
      select u.environment_id, u.id, row_number() over (order by u.seq) as number
      from (select environment_id, id, seq from events where position is null and seq is not null and environment_id <> all (held) order by seq limit most) u) n
    where e.environment_id = n.environment_id and e.id = n.id;
    get diagnostics numbered = row_count;
    update event_feed set position = last + numbered;
    if numbered > 0 then
      perform notify_after_commit('outbox', 'event_streams');
    end if;
  end if;
  select count(*) into unnumbered from (select from events where position is null and seq is not null and environment_id <> all (held) limit 100000) u;
end
$$;
