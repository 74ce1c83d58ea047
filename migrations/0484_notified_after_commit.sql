-- Notifications leave the transactions that write: NOTIFY in one holds a lock of the whole server until its commit is on disk, and at a synchronous standby.
-- phase: expand
-- locks: cache_changes access exclusive

-- Asks the process that runs the statement to notify the others once its transaction is committed: a message to its own session, which is never in the log.
-- A session that is no process of ours notifies nobody; what it changed is found by looking.
create function notify_after_commit(channel text, payload text) returns void language plpgsql as $$
begin
  raise info using errcode = 'IDP01', message = channel || ' ' || payload;
end
$$;

-- A client is forgotten by itself; of what else changed, everything that is remembered of its table.
alter table cache_changes add column key text;

create or replace function note_change() returns trigger language plpgsql as $$
declare
  owner uuid;
  changed text;
begin
  if tg_table_name = 'environments' then
    owner := coalesce(new.id, old.id);
  else
    owner := coalesce(new.environment_id, old.environment_id);
  end if;
  if tg_table_name = 'clients' then
    changed := coalesce(new.id, old.id);
  end if;
  insert into cache_changes (environment_id, kind, key) values (owner, tg_table_name, changed);
  perform notify_after_commit('cache', concat_ws(' ', owner, tg_table_name, changed));
  return null;
end
$$;

create or replace function note_removed_webhook() returns trigger language plpgsql as $$
begin
  insert into removed_webhooks (environment_id, webhook_id) values (old.environment_id, old.id) on conflict do nothing;
  perform notify_after_commit('outbox', 'webhook');
  return null;
end
$$;

create or replace function store_event(environment uuid, event uuid, type text, at timestamptz, text_body text, subscribers uuid[])
returns integer language plpgsql as $$
declare
  stored integer := 0;
begin
  insert into events (environment_id, id, event_type, occurred_at, body, seq)
  values (environment, event, type, at, text_body, nextval('event_seq'));
  if subscribers is null then
    subscribers := array(
      select w.id from webhooks w
      where w.environment_id = environment and w.status = 'enabled'
        and (type = any (w.events) or ('*' = any (w.events) and type <> 'token.issued')));
  end if;
  if cardinality(subscribers) > 0 then
    insert into webhook_deliveries
      (environment_id, id, webhook_id, event_id, event_type, payload, next_attempt_at, created_at, updated_at)
    select environment, uuid_v7(at), w.id, event, type, text_body, now(), at, at
    from webhooks w
    where w.environment_id = environment and w.id = any (subscribers) and w.status = 'enabled';
    get diagnostics stored = row_count;
  end if;
  if stored > 0 then
    perform notify_after_commit('outbox', 'webhook');
  end if;
  return stored;
end
$$;

create or replace function number_events(most integer, out numbered integer, out unnumbered integer) language plpgsql as $$
declare
  last bigint;
  here text;
begin
  numbered := 0;
  if exists (select from events where position is null and seq is not null)
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
      from (select environment_id, id, seq from events where position is null and seq is not null order by seq limit most) u) n
    where e.environment_id = n.environment_id and e.id = n.id;
    get diagnostics numbered = row_count;
    update event_feed set position = last + numbered;
    if numbered > 0 then
      perform notify_after_commit('outbox', 'event_streams');
    end if;
  end if;
  select count(*) into unnumbered from (select from events where position is null and seq is not null limit 100000) u;
end
$$;
