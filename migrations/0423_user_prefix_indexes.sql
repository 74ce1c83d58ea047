-- What 0422 replaced.
-- phase: expand
-- locks: users access exclusive
drop index users_email_prefix;
drop index users_first_name_prefix;
drop index users_last_name_prefix;
