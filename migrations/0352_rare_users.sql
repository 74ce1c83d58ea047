-- Blocked users and those whose address was never proven are few among all: each index has what their lists are sorted and narrowed by, so that all of them are
-- read from it, and sorted, before the page's own rows are.
-- phase: expand
-- locks: users share, reads its rows
create index users_blocked_sorted on users (environment_id, created_at, id)
  include (updated_at, email_key, last_name, last_login_at, email_verified) where status = 'blocked';
create index users_unverified_sorted on users (environment_id, created_at, id)
  include (updated_at, email_key, last_name, last_login_at, status) where not email_verified;
