-- phase: expand
-- locks: environments access exclusive
-- Applications that can't do without `preferred_username` get the address of whoever has none.
alter table environments add column preferred_username_from_email boolean not null default false;
