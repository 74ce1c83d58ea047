-- What is searched for is found in an index for each of what it may begin: they have what lists are sorted by, so that all that was found is read from them, and
-- sorted, before the page's own rows are.
-- phase: expand
-- locks: users share, reads its rows
create index users_email_search on users (environment_id, email_key text_pattern_ops)
  include (id, created_at, updated_at, first_name, last_name, last_login_at);
create index users_first_name_search on users (environment_id, lower(first_name) text_pattern_ops)
  include (id, created_at, updated_at, email_key, first_name, last_name, last_login_at);
create index users_last_name_search on users (environment_id, lower(last_name) text_pattern_ops)
  include (id, created_at, updated_at, email_key, first_name, last_name, last_login_at);
