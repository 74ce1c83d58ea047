-- phase: expand
-- Where security events and the audit log are sent: lines of JSON, in order, at least once. One process sends for a stream at a time (lease).
create table log_streams (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  -- The id as text: the destination that the outbox tells streams apart by.
  destination text not null generated always as (id::text) stored,
  name text not null,
  url text not null,
  format text not null check (format in ('native', 'ecs', 'ocsf')),
  sources text[] not null,
  status text not null default 'enabled' check (status in ('enabled', 'paused')),
  -- The Authorization header that is sent along; null for none.
  authorization_sealed bytea,
  secret_sealed bytea not null,
  secret_hint text not null,
  secret_rotated_at timestamptz,
  previous_secret_sealed bytea,
  previous_secret_expires_at timestamptz,
  -- Not sent to before; failures in a row; since when.
  next_attempt_at timestamptz not null default now(),
  attempt_count integer not null default 0,
  failing_since timestamptz,
  last_error text,
  last_response_status integer,
  last_sent_at timestamptz,
  lease_id uuid,
  leased_until timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
) with (fillfactor = 70);

-- What waits to be sent, in the order of `seq`: it is deleted once the receiver has taken it, so that a change that commits late is never passed over.
-- It doesn't reference its stream: the key would be locked by every transaction that records something, and sending would wait for the slowest.
create table log_stream_entries (
  environment_id uuid not null references environments (id) on delete cascade,
  log_stream_id uuid not null,
  seq bigint not null generated always as identity,
  -- The value of `sources` that it is sent for.
  source text not null,
  record_id uuid not null,
  due_at timestamptz not null,
  primary key (environment_id, log_stream_id, seq)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create unique index log_stream_entries_record on log_stream_entries (environment_id, log_stream_id, record_id);
create index log_stream_entries_due_at on log_stream_entries (due_at);

-- Whatever writes to the audit log, what is streamed waits from the same commit on. Without streams it costs a look at an empty table.
create function queue_log_stream_entries() returns trigger language plpgsql as $$
begin
  if exists (select 1 from log_streams) then
    insert into log_stream_entries (environment_id, log_stream_id, source, record_id, due_at)
    select s.environment_id, s.id, k.source, f.id,
      -- What is counted is sent when it begins, and once more with its final count when its minute is over.
      case when tg_op = 'INSERT' then now() else greatest(now(), date_trunc('minute', f.occurred_at) + interval '65 seconds') end
    from fresh f
    cross join lateral (select case when f.security_event or f.event is not null then 'security_events' else 'audit_logs' end as source) k
    join log_streams s on s.environment_id = f.environment_id and k.source = any (s.sources)
    order by f.environment_id, s.id, f.id
    -- One that is being sent right now keeps its old number, under which it will be deleted; this one stays.
    on conflict (environment_id, log_stream_id, record_id)
    do update set seq = default, due_at = least(log_stream_entries.due_at, excluded.due_at);
  end if;
  return null;
end $$;
create trigger audit_logs_inserted after insert on audit_logs
  referencing new table as fresh for each statement execute function queue_log_stream_entries();
create trigger audit_logs_counted after update on audit_logs
  referencing new table as fresh for each statement execute function queue_log_stream_entries();
