-- No list looks for sessions that were renewed by another sign-in by themselves any more.
-- phase: expand
-- locks: sessions access exclusive
drop index sessions_renewed;
