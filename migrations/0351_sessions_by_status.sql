-- Sessions are listed by status in any order: see `sessionsOfStatus` of src/db/tables/session_lists.ts. How long a session may last at most tells that none of the
-- younger ones has run out; few were renewed by another sign-in, and the others run out by their age.
-- phase: expand
-- locks: sessions share, reads its rows
create index sessions_lifetime on sessions (environment_id, (expires_at - created_at));
create index sessions_renewed on sessions (environment_id, created_at, id) where signed_in_at > created_at;
