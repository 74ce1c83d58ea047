-- Every sort order and filter of the user lists answers from an index; the id makes each order total. LIKE 'prefix%' needs pattern_ops.
create index users_updated_at on users (environment_id, updated_at, id);
create index users_email_order on users (environment_id, email_key, id);
create index users_last_name on users (environment_id, (coalesce(lower(last_name), '')), id);
create index users_last_login_at on users (environment_id, (coalesce(last_login_at, '-infinity'::timestamptz)), id);
create index users_email_prefix on users (environment_id, email_key text_pattern_ops);
create index users_first_name_prefix on users (environment_id, lower(first_name) text_pattern_ops);
create index users_last_name_prefix on users (environment_id, lower(last_name) text_pattern_ops);
create index users_blocked on users (environment_id, created_at, id) where status = 'blocked';
create index users_unverified on users (environment_id, created_at, id) where not email_verified;
create index sessions_updated_at on sessions (environment_id, updated_at, id);
create index sessions_last_activity_at on sessions (environment_id, last_activity_at, id);
create index sessions_ip_address on sessions (environment_id, ip_address, created_at, id);
