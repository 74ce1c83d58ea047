-- Events, webhooks and the history of deliveries.

create table events (
  environment_id uuid not null,
  id uuid not null,
  event_type text not null,
  occurred_at timestamptz not null,
  -- The exact text that every delivery of this event sends.
  body text not null,
  primary key (environment_id, id)
);

-- Where events are sent. The secret signs each delivery; the previous one signs too until it expires.
create table webhooks (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  name text not null,
  url text not null,
  description text,
  events text[] not null,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  disabled_reason text,
  secret_sealed bytea not null,
  secret_hint text not null,
  secret_rotated_at timestamptz,
  previous_secret_sealed bytea,
  previous_secret_expires_at timestamptz,
  failed_event_count integer not null default 0,
  last_delivery_at timestamptz,
  last_success_at timestamptz,
  -- What a webhook was ever subscribed to, or has deliveries of: they may still be sent, or sent again, wherever it points by then. Whoever
  -- changes where it points must be allowed to read all of that.
  past_events text[] not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);

-- No key to webhooks, which may have millions of deliveries: deleting one must not wait for them, and storing an event must not lock it. Its deliveries go in
-- batches afterwards, by the row in removed_webhooks. Half of each page is free, so that a change stays on its page and touches no index.
create table webhook_deliveries (
  environment_id uuid not null,
  id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  event_type text not null,
  payload text not null,
  status text not null default 'pending' check (status in ('pending', 'retrying', 'succeeded', 'failed')),
  trigger text not null default 'event' check (trigger in ('event', 'test', 'redelivery')),
  failure_reason text,
  attempt_count integer not null default 0,
  next_attempt_at timestamptz,
  last_response_status integer,
  completed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null default 1,
  primary key (environment_id, id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

-- An attempt is found by its delivery and its number, never by its id. It goes with its delivery, by a trigger (12_webhook_queue.sql).
create table webhook_delivery_attempts (
  environment_id uuid not null,
  id uuid not null,
  delivery_id uuid not null,
  attempt_number integer not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  response_status integer,
  response_body text,
  response_truncated boolean not null default false,
  failure_reason text,
  unique (environment_id, delivery_id, attempt_number)
);
alter table webhook_delivery_attempts replica identity using index webhook_delivery_attempts_environment_id_delivery_id_attemp_key;

-- Webhooks that were deleted and whose deliveries are still to go.
create table removed_webhooks (
  environment_id uuid not null,
  webhook_id uuid not null,
  removed_at timestamptz not null default now(),
  primary key (environment_id, webhook_id)
);

create index events_occurred_at on events (occurred_at);

create index webhooks_created_at on webhooks (environment_id, created_at, id);

create index webhook_deliveries_webhook on webhook_deliveries (environment_id, webhook_id, created_at, id);
create index webhook_deliveries_created_at on webhook_deliveries (environment_id, created_at, id);
create index webhook_deliveries_event on webhook_deliveries (environment_id, event_id);
-- Every filter of the delivery history answers from an index, also when nothing fits it and a whole period would have to be read.
create index webhook_deliveries_event_type on webhook_deliveries (environment_id, event_type, created_at, id);
-- Tests and redeliveries are few among all deliveries: found by their own small index, which an event's delivery never enters. What caused a delivery
-- never changes, so that changes stay on their page.
create index webhook_deliveries_by_hand on webhook_deliveries (environment_id, created_at, id) where trigger <> 'event';
-- Deliveries by a response status that few had, or none: which statuses a stretch of the table has, two megabytes for ten million rows. From PostgreSQL 16 on such an
-- index doesn't keep an update from being heap-only; before, every attempt would be a new entry in all the others, so that there is none.
do $$
begin
  if current_setting('server_version_num')::integer >= 160000 then
    create index webhook_deliveries_response on webhook_deliveries
      using brin (last_response_status int4_minmax_multi_ops (values_per_range = 16)) with (pages_per_range = 16, autosummarize = on);
  end if;
end $$;

-- A UUID version 7 (RFC 9562 5.7) whose time is the given one.
create function uuid_v7(at timestamptz) returns uuid language sql volatile as $$
  select encode(
    set_bit(
      set_bit(
        overlay(uuid_send(gen_random_uuid()) placing substring(int8send((extract(epoch from at) * 1000)::bigint) from 3) from 1 for 6),
        52, 1),
      53, 1),
    'hex')::uuid
$$;

-- Stores an event and one delivery for each of the given webhooks that is still enabled, and wakes the outbox at commit.
-- Without `subscribers` it looks for them itself; the hot path hands in the ones it remembers.
-- Called inside the statement or transaction of the change itself: both or neither.
-- When a delivery is due follows the database's clock alone: replicas whose clocks differ share the queue.
create function store_event(environment uuid, event uuid, type text, at timestamptz, text_body text, subscribers uuid[])
returns integer language plpgsql as $$
declare
  stored integer;
begin
  if subscribers is null then
    subscribers := array(
      select w.id from webhooks w
      where w.environment_id = environment and w.status = 'enabled'
        and (type = any (w.events) or ('*' = any (w.events) and type <> 'token.issued')));
  end if;
  if cardinality(subscribers) = 0 then
    return 0;
  end if;
  insert into webhook_deliveries
    (environment_id, id, webhook_id, event_id, event_type, payload, next_attempt_at, created_at, updated_at)
  select environment, uuid_v7(at), w.id, event, type, text_body, now(), at, at
  from webhooks w
  where w.environment_id = environment and w.id = any (subscribers) and w.status = 'enabled';
  get diagnostics stored = row_count;
  if stored > 0 then
    insert into events (environment_id, id, event_type, occurred_at, body) values (environment, event, type, at, text_body);
    perform pg_notify('outbox', 'webhook');
  end if;
  return stored;
end
$$;

-- The token.issued event, built in the database so that issuing a token and storing its event stay one statement.
create function store_token_issued(
  environment uuid, event uuid, at timestamptz, subscribers uuid[], jti uuid, token_format text, grant_type text, client_id text,
  user_id uuid, session_id uuid, scope text, audience text, lifetime integer, refresh_token_issued boolean)
returns integer language sql as $$
  select store_event(environment, event, 'token.issued', at, json_build_object(
    'event', 'token.issued',
    'event_id', event,
    'timestamp', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'environment_id', environment,
    'data', json_build_object(
      'id', jti,
      'token_type', 'Bearer',
      'token_format', token_format,
      'grant_type', grant_type,
      'client_id', client_id,
      'user_id', user_id,
      'session_id', session_id,
      'scope', scope,
      'audience', audience,
      'issued_at', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'expires_at', to_char((at + make_interval(secs => lifetime)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'expires_in', lifetime,
      'refresh_token_issued', refresh_token_issued))::text, subscribers)
$$;

create function note_removed_webhook() returns trigger language plpgsql as $$
begin
  insert into removed_webhooks (environment_id, webhook_id) values (old.environment_id, old.id) on conflict do nothing;
  perform pg_notify('outbox', 'webhook');
  return null;
end
$$;

create trigger webhooks_changed
  after insert or delete or update of events, status, url, secret_sealed on webhooks
  for each row execute function note_change();
create trigger webhooks_removed after delete on webhooks for each row execute function note_removed_webhook();
