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
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);
create index webhooks_created_at on webhooks (environment_id, created_at, id);

create table events (
  environment_id uuid not null,
  id uuid not null,
  event_type text not null,
  occurred_at timestamptz not null,
  -- The exact text that every delivery of this event sends.
  body text not null,
  primary key (environment_id, id)
);
create index events_occurred_at on events (occurred_at);

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
  -- A claim: who holds the delivery (fencing token) and until when; another process takes it after that.
  lease_id uuid,
  leased_until timestamptz,
  last_response_status integer,
  completed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null default 1,
  primary key (environment_id, id),
  foreign key (environment_id, webhook_id) references webhooks (environment_id, id) on delete cascade
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
create index webhook_deliveries_due on webhook_deliveries (next_attempt_at, id) where next_attempt_at is not null;
create index webhook_deliveries_webhook on webhook_deliveries (environment_id, webhook_id, created_at, id);
create index webhook_deliveries_created_at on webhook_deliveries (environment_id, created_at, id);
create index webhook_deliveries_event on webhook_deliveries (environment_id, event_id);
create index webhook_deliveries_completed_at on webhook_deliveries (completed_at) where completed_at is not null;

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
  primary key (environment_id, id),
  unique (environment_id, delivery_id, attempt_number),
  foreign key (environment_id, delivery_id) references webhook_deliveries (environment_id, id) on delete cascade
);

create trigger webhooks_changed
  after insert or delete or update of events, status, url, secret_sealed on webhooks
  for each row execute function note_change();

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
-- Called inside the statement or transaction of the change itself (spec: both or neither).
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
  insert into events (environment_id, id, event_type, occurred_at, body) values (environment, event, type, at, text_body);
  insert into webhook_deliveries
    (environment_id, id, webhook_id, event_id, event_type, payload, next_attempt_at, created_at, updated_at)
  select environment, uuid_v7(at), w.id, event, type, text_body, at, at, at
  from webhooks w
  where w.environment_id = environment and w.id = any (subscribers) and w.status = 'enabled';
  get diagnostics stored = row_count;
  if stored > 0 then
    perform pg_notify('outbox', 'webhook');
  end if;
  return stored;
end
$$;

-- Mail waits here in sealed form (it carries one-time codes) until the mail loop has sent it.
create table mails (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  recipient text not null,
  sealed bytea not null,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempt_count integer not null default 0,
  next_attempt_at timestamptz,
  lease_id uuid,
  leased_until timestamptz,
  last_error text,
  expires_at timestamptz,
  sent_at timestamptz,
  created_at timestamptz not null,
  primary key (environment_id, id)
);
create index mails_due on mails (next_attempt_at, id) where next_attempt_at is not null;
create index mails_created_at on mails (environment_id, created_at desc, id desc);

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
