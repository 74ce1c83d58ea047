-- Keys that rows keep when they are copied to another database: attempts have a primary key, and what waits for a log stream has no number of a sequence.
-- phase: expand
-- locks: log_stream_entries access exclusive, reads its rows; webhook_delivery_attempts access exclusive, reads its rows

-- Whoever has many attempts builds this index before, with `create unique index concurrently`.
create unique index if not exists webhook_delivery_attempts_pkey on webhook_delivery_attempts (environment_id, delivery_id, attempt_number);
alter table webhook_delivery_attempts
  add constraint webhook_delivery_attempts_pkey primary key using index webhook_delivery_attempts_pkey,
  drop constraint webhook_delivery_attempts_environment_id_delivery_id_attemp_key,
  replica identity default;

-- A record waits once for a stream. `seq` is when it was queued, in microseconds: the order of sending, and no two times of one record are the same.
alter table log_stream_entries
  drop constraint log_stream_entries_pkey,
  alter column seq drop identity,
  alter column seq set default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  add constraint log_stream_entries_pkey primary key using index log_stream_entries_record;
create index log_stream_entries_order on log_stream_entries (environment_id, log_stream_id, seq, record_id);

create or replace function queue_log_stream_entries() returns trigger language plpgsql as $$
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
    -- One that is being sent right now is deleted by its old time; this one stays.
    on conflict (environment_id, log_stream_id, record_id)
    do update set seq = greatest(log_stream_entries.seq + 1, excluded.seq), due_at = least(log_stream_entries.due_at, excluded.due_at);
  end if;
  return null;
end $$;
