-- The indexes that lists of users read in the order in which they were made, and prefixes that are searched for: without what lists in other orders were
-- sorted by, which a long list with filters no longer has.
-- phase: expand
-- locks: users share, reads its rows
create index users_blocked on users (environment_id, created_at, id) where status = 'blocked';
create index users_unverified on users (environment_id, created_at, id) where not email_verified;
create index users_email_prefix on users (environment_id, email_key text_pattern_ops);
create index users_first_name_prefix on users (environment_id, lower(first_name) text_pattern_ops);
create index users_last_name_prefix on users (environment_id, lower(last_name) text_pattern_ops);
