-- For the lists of the Management API.
create index authenticators_updated_at on authenticators (environment_id, updated_at, id);
create index authenticators_last_used_at on authenticators (environment_id, (coalesce(last_used_at, '-infinity'::timestamptz)), id);
create index authenticators_kind on authenticators (environment_id, kind, created_at, id);
create index authenticators_pending on authenticators (environment_id, created_at, id) where status = 'pending';
create index authenticators_owners on authenticators (environment_id, kind, user_id) where status = 'active';
create index users_two_step on users (environment_id, created_at, id) where two_step_enabled;
