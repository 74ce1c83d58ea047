-- A due delivery is found by its webhook, so that one webhook's backlog hides nobody else's.
create index webhook_deliveries_queue on webhook_deliveries (environment_id, webhook_id, next_attempt_at, id) where next_attempt_at is not null;

-- A webhook may have millions of deliveries: deleting it must not wait for them, and storing an event must not lock it. Its deliveries
-- go in batches afterwards, by the row that the trigger leaves.
alter table webhook_deliveries drop constraint webhook_deliveries_environment_id_webhook_id_fkey;

create table removed_webhooks (
  environment_id uuid not null,
  webhook_id uuid not null,
  removed_at timestamptz not null default now(),
  primary key (environment_id, webhook_id)
);

create function note_removed_webhook() returns trigger language plpgsql as $$
begin
  insert into removed_webhooks (environment_id, webhook_id) values (old.environment_id, old.id) on conflict do nothing;
  perform pg_notify('outbox', 'webhook');
  return null;
end
$$;
create trigger webhooks_removed after delete on webhooks for each row execute function note_removed_webhook();

-- As before, but when a delivery is due follows the database's clock alone: replicas whose clocks differ share the queue.
create or replace function store_event(environment uuid, event uuid, type text, at timestamptz, text_body text, subscribers uuid[])
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
