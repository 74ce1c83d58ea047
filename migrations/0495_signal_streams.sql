-- Streams by which clients hear of what happens to people and sessions (Shared Signals Framework 1.0), and what waits to be sent.
-- phase: expand
-- locks: clients access exclusive, reads its rows; environments share row exclusive; users share row exclusive
create table signal_streams (
  environment_id uuid not null,
  id uuid not null,
  -- The id as text: the destination by which the outbox tells streams apart.
  destination text not null,
  client_id text not null,
  -- `iss` of its tokens, as the client was told when it made the stream.
  issuer text not null,
  description text,
  events_requested text[] not null,
  method text not null check (method in ('push', 'poll')),
  -- Where tokens are pushed to; null for one that is polled.
  endpoint_url text,
  authorization_sealed bytea,
  status text not null default 'enabled' check (status in ('enabled', 'paused', 'disabled')),
  status_reason text,
  -- Who paused it; only they, or administrators, let it go on. `limit`: too much waited.
  paused_by text check (paused_by in ('receiver', 'administrator', 'limit')),
  verified_at timestamptz,
  next_attempt_at timestamptz not null default now(),
  attempt_count integer not null default 0,
  last_error text,
  last_response_status integer,
  last_sent_at timestamptz,
  lease_id uuid,
  leased_until timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade,
  check ((method = 'push') = (endpoint_url is not null))
) with (fillfactor = 70);

-- What happened, once, written by the statement that did it; the outbox makes of it what each stream is sent (`signal_sets`).
create table signals (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null default gen_random_uuid(),
  -- When it was written, in microseconds: the order of sending.
  seq bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  event text not null,
  user_id uuid not null,
  session_id uuid,
  -- The clients that may hear of it, as the person stood to them then.
  client_ids text[] not null,
  data jsonb not null,
  occurred_at timestamptz not null default now(),
  primary key (environment_id, id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- What waits for a stream, in the order of `seq`: deleted once its receiver has it.
create table signal_sets (
  environment_id uuid not null,
  signal_stream_id uuid not null,
  -- `jti`: the same however often it is sent.
  id uuid not null default gen_random_uuid(),
  seq bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  txn uuid not null,
  event text not null,
  -- Null where the token is about the stream itself.
  user_id uuid,
  session_id uuid,
  data jsonb not null,
  occurred_at timestamptz not null default now(),
  primary key (environment_id, signal_stream_id, id),
  foreign key (environment_id, signal_stream_id) references signal_streams (environment_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- People whom the client took out of its stream.
create table signal_exclusions (
  environment_id uuid not null,
  signal_stream_id uuid not null,
  user_id uuid not null,
  primary key (environment_id, signal_stream_id, user_id),
  foreign key (environment_id, signal_stream_id) references signal_streams (environment_id, id) on delete cascade,
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);

alter table clients add column signal_audience text not null default 'own' check (signal_audience in ('own', 'organization', 'everybody'));

create index signal_streams_client on signal_streams (environment_id, client_id);
create index signal_streams_created_at on signal_streams (environment_id, created_at, id);
create index signal_streams_updated_at on signal_streams (environment_id, updated_at, id);
create index signals_seq on signals (seq);
create index signal_sets_order on signal_sets (environment_id, signal_stream_id, seq, id);
create index signal_sets_occurred_at on signal_sets (occurred_at);
create index signal_exclusions_user on signal_exclusions (environment_id, user_id);
