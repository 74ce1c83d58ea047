-- Who has still to sign in for the first time, of those whose password an old system checks: a list of them is read from this index.
-- phase: expand
-- locks: users share, reads its rows
create index users_pending_migration on users (environment_id, created_at, id) where pending_migration;
