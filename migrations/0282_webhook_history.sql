-- Without these no column that changes in a delivery is indexed (PostgreSQL's heap-only updates). The queue and troubled_deliveries stand in for three; what is
-- 30 days old is found by the time it was made. A process of the release before goes on without them, more slowly in its lists and its janitor.
-- phase: expand
-- locks: webhook_deliveries access exclusive; webhook_delivery_attempts access exclusive
drop index webhook_deliveries_due;
drop index webhook_deliveries_queue;
drop index webhook_deliveries_completed_at;
drop index webhook_deliveries_troubled;
-- The trigger deletes attempts with their delivery: the foreign key looked each delivery up, and locked it, for every attempt.
alter table webhook_delivery_attempts drop constraint webhook_delivery_attempts_environment_id_delivery_id_fkey;
-- An attempt is found by its delivery and its number, never by its id.
alter table webhook_delivery_attempts replica identity using index webhook_delivery_attempts_environment_id_delivery_id_attemp_key;
alter table webhook_delivery_attempts drop constraint webhook_delivery_attempts_pkey;
