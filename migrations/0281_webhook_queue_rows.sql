-- What is due by now, with the leases that processes hold, and what is in trouble: as much as waits or failed, not the whole history. Each row is
-- locked while it is copied: an attempt that ends meanwhile finds it in the queue, or has ended it before.
-- phase: expand
-- locks: none
insert into webhook_queue (environment_id, webhook_id, next_attempt_at, delivery_id, by_event, lease_id, leased_until)
select environment_id, webhook_id, next_attempt_at, id, trigger = 'event', lease_id, leased_until
from webhook_deliveries where next_attempt_at is not null
for no key update
on conflict do nothing;
insert into troubled_deliveries (environment_id, webhook_id, created_at, delivery_id)
select environment_id, webhook_id, created_at, id from webhook_deliveries where status = 'failed' or last_response_status >= 300
for no key update
on conflict do nothing;
