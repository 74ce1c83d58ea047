-- Events in partitions by id, as 0516 does it for the audit log.
-- phase: expand
-- locks: events access exclusive
select partition_table('events', 'id');
-- The sequence goes with the table that is written, not with its first partition.
alter sequence event_seq owned by events.seq;
