-- The accounts whose time to return is over are few among all, and looked for every ten minutes.
-- phase: expand
-- locks: users share, reads its rows
create index users_deletion_due on users (deletion_due_at) where deletion_due_at is not null;
