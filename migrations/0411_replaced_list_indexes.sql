-- What 0410 replaced. By itself: who has read users and waits to write them while an index is built would be waited for in turn by a drop after it in the same
-- transaction, and one of the two would end as a deadlock.
-- phase: expand
-- locks: users access exclusive
drop index users_blocked_sorted;
drop index users_unverified_sorted;
drop index users_email_search;
drop index users_first_name_search;
drop index users_last_name_search;
