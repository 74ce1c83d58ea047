-- Password hashes of more systems: what checks of them cost, how an environment's users are spread over the kinds (decoys follow that), and the keys that
-- hashes of Firebase are checked with.
-- phase: expand
-- locks: environments access exclusive
create or replace function password_hash_work(password_hash text) returns integer language sql immutable parallel safe as $$
  select case
    when password_hash like '$argon2id$v=19$m=19456,t=2,p=1$%' then null
    when password_hash ~ '^\$2[aby]\$\d\d\$' then 114 * (1 << least(substr(password_hash, 5, 2)::integer, 20))
    when password_hash ~ '^\$argon2' then least(
      substring(password_hash from '[$,]m=(\d{1,7})(?!\d)')::bigint * substring(password_hash from '[$,]t=(\d{1,7})(?!\d)')::bigint, 2147483647)::integer
    when password_hash ~ '^(\$pbkdf2-|pbkdf2_)sha(1|256|512)\$(i=)?\d{1,9}(,l=\d{1,3})?\$' then least(
      substring(password_hash from '^\$?pbkdf2.sha\d+\$(?:i=)?(\d{1,9})')::bigint
        * case substring(password_hash from '^\$?pbkdf2.sha(\d+)') when '512' then 60 else 25 end
        * ceil((length(rtrim(substring(password_hash from '[^$]*$'), '=')) * 3 / 4)::numeric
            / case substring(password_hash from '^\$?pbkdf2.sha(\d+)') when '1' then 20 when '256' then 32 else 64 end)::integer
        / 100, 2147483647)::integer
    -- Version 2: 1,000 rounds of SHA-1 for 32 bytes. Version 3 says its digest, rounds and salt.
    when password_hash ~ '^aspnet\$A[A-P][A-Za-z0-9+/]+={0,2}$' then 500
    when password_hash ~ '^aspnet\$AQAAAA[A-Za-z0-9+/]+={0,2}$' and length(password_hash) % 4 = 3 then least(
      ('x' || encode(substring(decode(substr(password_hash, 8), 'base64') from 6 for 4), 'hex'))::bit(32)::bigint
        * case get_byte(decode(substr(password_hash, 8), 'base64'), 4) when 2 then 60 else 25 end
        * ceil((length(decode(substr(password_hash, 8), 'base64')) - 13 - get_byte(decode(substr(password_hash, 8), 'base64'), 12))::numeric
            / case get_byte(decode(substr(password_hash, 8), 'base64'), 4) when 0 then 20 when 1 then 32 else 64 end)::integer
        / 100, 2147483647)::integer
    when password_hash ~ '^\$firebase-scrypt\$ln=\d{1,2},r=\d{1,2}[,$]' then least(
      34 * (1::bigint << least(substring(password_hash from 'ln=(\d+)')::integer, 30)) * substring(password_hash from ',r=(\d+)')::integer / 100,
      2147483647)::integer
  end
$$;

-- What of a hash says how dear it is: all but the salt and the hash, and how long that one is.
create function password_hash_shape(password_hash text) returns text language sql immutable parallel safe as $$
  select case
    when password_hash like '$2%' then left(password_hash, 7)
    when password_hash like 'aspnet$%' then left(password_hash, 23)
    else regexp_replace(password_hash, '\$[^$]*\$[^$]*$', '') || '$' || length(rtrim(substring(password_hash from '[^$]*$'), '='))
  end
$$;

-- Null while nobody has an imported hash, as mostly.
alter table environments add column password_hash_mix jsonb;
alter table environments add column password_hash_mix_at timestamptz;

create table password_hash_keys (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  key_sealed bytea not null,
  created_at timestamptz not null,
  primary key (environment_id, id)
);
