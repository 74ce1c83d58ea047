-- What waits for its position in the feed, and in which order. Events of before the feed are none of it.
-- phase: expand
-- locks: events share, reads its rows
create index events_unnumbered on events (seq) where position is null and seq is not null;

-- Numbers up to `most` committed events in the order in which they were stored, one process at a time; others, and what commits later, come later. The snapshot of each
-- statement is newer than the lock.
create function number_events(most integer, out numbered integer, out unnumbered integer) language plpgsql as $$
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
      perform pg_notify('outbox', 'event_streams');
    end if;
  end if;
  select count(*) into unnumbered from (select from events where position is null and seq is not null limit 100000) u;
end
$$;
