-- A client is first-party only when somebody says so who may: people are not asked before such a client sees what is theirs.
alter table clients alter column first_party set default false;
-- Those that nobody signs in to never asked anybody.
update clients set first_party = false where first_party and not ('authorization_code' = any (grant_types));
