-- Deliveries in partitions by id, as 0516 does it for the audit log.
-- phase: expand
-- locks: webhook_deliveries access exclusive
select partition_table('webhook_deliveries', 'id');
