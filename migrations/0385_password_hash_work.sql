-- What a check of an imported password hash costs, in KiB times passes of argon2 (bcrypt of cost 10 is three hashes of ours): a refused sign-in is held back
-- until the dearest of the environment would have been checked. Null for our own kind and for what can't be read; rows leave the index as people sign in.
-- The kinds of migration 0121, each of which was computed at every refusal, serve the release before and go with the one after.
-- phase: expand
-- locks: users share, reads its rows
create function password_hash_work(password_hash text) returns integer language sql immutable parallel safe as $$
  select case
    when password_hash like '$argon2id$v=19$m=19456,t=2,p=1$%' then null
    when password_hash ~ '^\$2[aby]\$\d\d\$' then 114 * (1 << least(substr(password_hash, 5, 2)::integer, 20))
    when password_hash ~ '^\$argon2' then least(
      substring(password_hash from '[$,]m=(\d{1,7})(?!\d)')::bigint * substring(password_hash from '[$,]t=(\d{1,7})(?!\d)')::bigint, 2147483647)::integer
  end
$$;

create index users_imported_work on users (environment_id, password_hash_work(password_hash))
  where password_hash_work(password_hash) is not null;
