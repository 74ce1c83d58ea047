-- Who made a set-up link: it ends with what they may do. Null: a client, or it was made before. The person may be gone, which ends it as well.
-- phase: expand
-- locks: setup_links access exclusive
alter table setup_links add column maker_id uuid;
