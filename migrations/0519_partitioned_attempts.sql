-- Attempts in partitions by their delivery, as 0516 does it for the audit log: they go with it.
-- phase: expand
-- locks: webhook_delivery_attempts access exclusive
select partition_table('webhook_delivery_attempts', 'delivery_id');
drop function partition_table(text, text);
