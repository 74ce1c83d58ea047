-- While half of an environment's budget of wrong codes is used, new codes are longer: they can't be guessed, so they need no budget, and strangers
-- who use it up keep nobody out.
alter table passcodes add column code_length smallint not null default 6;
