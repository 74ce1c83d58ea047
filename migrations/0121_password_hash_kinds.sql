-- Which kinds of imported password hashes an environment still holds: a refused sign-in costs a check of each, whoever it was for, so that
-- the time of an answer doesn't tell which addresses were imported. A kind is algorithm and cost; rows leave the index as people sign in.
create function password_hash_kind(password_hash text) returns text language sql immutable parallel safe as $$
  select case
    when password_hash like '$argon2id$v=19$m=19456,t=2,p=1$%' then null
    when password_hash like '$2%' then '$2b' || substr(password_hash, 4, 4)
    else substring(password_hash from '^\$argon2(?:id|i|d)\$(?:v=\d+\$)?[^$]+\$')
  end
$$;

create index users_imported_password on users (environment_id, password_hash_kind(password_hash))
  where password_hash_kind(password_hash) is not null;
