-- Tests and redeliveries are few among all deliveries: found by their own small index, which an event's delivery never enters. What caused a delivery
-- never changes, so that changes stay on their page.
-- phase: expand
-- locks: webhook_deliveries share, reads its rows
create index webhook_deliveries_by_hand on webhook_deliveries (environment_id, created_at, id) where trigger <> 'event';
