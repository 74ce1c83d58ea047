-- Deliveries by a response status that few had, or none: which statuses a stretch of the table has, two megabytes for ten million rows. From PostgreSQL 16 on such an
-- index doesn't keep an update from being heap-only; before, every attempt would be a new entry in all the others, so that there is none.
-- phase: expand
-- locks: webhook_deliveries share, reads its rows
do $$
begin
  if current_setting('server_version_num')::integer >= 160000 then
    create index webhook_deliveries_response on webhook_deliveries
      using brin (last_response_status int4_minmax_multi_ops (values_per_range = 16)) with (pages_per_range = 16, autosummarize = on);
  end if;
end $$;
