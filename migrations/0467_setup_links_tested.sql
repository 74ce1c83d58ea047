-- Which version of its connection the test sign-in of a set-up link has let somebody in with: that one can be enabled.
-- phase: expand
-- locks: setup_links access exclusive
alter table setup_links add column tested_version integer;
