-- The events feed: every event is stored, whether or not a webhook wants it, and numbered after its commit in one order that readers follow.
-- phase: expand
-- locks: environments access exclusive; events access exclusive
create sequence event_seq;

-- `seq`: the order in which events were stored; null for what the feed never shows (tests of webhooks, and what is older than the feed). `position`: the place in
-- the feed, given once the event is committed, so that none comes to stand before what somebody has read; null until then.
alter table events add column seq bigint, add column position bigint;
alter sequence event_seq owned by events.seq;

-- The last position that was given, and on which database: its system, timeline and oid. Restored or failed over, positions go on far beyond all that were given.
create table event_feed (
  id boolean primary key default true check (id),
  position bigint not null,
  lineage text not null
);

-- The last position of each environment that has gone: whoever hasn't read so far has missed something.
create table event_retention (
  environment_id uuid primary key references environments (id) on delete cascade,
  position bigint not null
);

create function note_expired_events() returns trigger language plpgsql as $$
begin
  insert into event_retention (environment_id, position)
  select g.environment_id, max(g.position) from gone g join environments e on e.id = g.environment_id
  where g.position is not null group by g.environment_id
  on conflict (environment_id) do update set position = greatest(event_retention.position, excluded.position);
  return null;
end
$$;

create trigger events_expired after delete on events referencing old table as gone
  for each statement execute function note_expired_events();

alter table environments add column record_token_issued boolean not null default false;

-- As before, but that the event is stored also when nobody is subscribed.
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
    perform pg_notify('outbox', 'webhook');
  end if;
  return stored;
end
$$;
