-- What 0352 and 0353 replaced. By itself: who has read users and waits to write them while an index is built would be waited for in turn by a drop after it in the
-- same transaction, and one of the two would end as a deadlock.
-- phase: expand
-- locks: users access exclusive
drop index if exists users_blocked;
drop index if exists users_unverified;
drop index if exists users_email_prefix;
drop index if exists users_first_name_prefix;
drop index if exists users_last_name_prefix;
