-- People delete their own accounts: when each of those that wait is deleted, and for how long (seconds) an environment lets people return; null: its people
-- can't delete their accounts.
-- phase: expand
-- locks: environments access exclusive; users access exclusive
alter table users add column deletion_due_at timestamptz;
alter table environments add column account_deletion_delay integer default 2592000;
