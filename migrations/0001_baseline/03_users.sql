-- Users, and the codes that are mailed to them.

create table users (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  email text not null,
  -- The address as it is compared: normalised, in small letters.
  email_key text not null,
  email_verified boolean not null default false,
  first_name text,
  last_name text,
  middle_name text,
  nickname text,
  preferred_username text,
  profile text,
  picture text,
  website text,
  gender text,
  birthdate text,
  zoneinfo text,
  locale text,
  phone_number text,
  phone_number_verified boolean not null default false,
  address jsonb,
  external_id text,
  status text not null default 'active' check (status in ('active', 'blocked')),
  metadata jsonb not null default '{}',
  password_hash text,
  password_changed_at timestamptz,
  last_login_at timestamptz,
  login_count integer not null default 0,
  failed_login_count integer not null default 0,
  locked_until timestamptz,
  -- The kinds of a user's active authenticators, on the row that every sign-in reads anyway.
  authenticator_kinds text[] not null default '{}',
  two_step_enabled boolean not null default false,
  -- The password came by mail, and no other factor was used since: a code to the same mailbox would be the same factor again.
  password_set_by_mail boolean not null default false,
  -- When the policy first asked the user for a factor; the time to enrol one runs from then.
  factor_required_since timestamptz,
  -- Kept by the same trigger (04_authenticators.sql).
  recovery_codes_left smallint not null default 0,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);

-- A passcode that was mailed to somebody: to register an address, to set a new password, or to sign in. The id is what the person's browser holds; the code is
-- kept as a digest under the service's key, so that a copy of this table gives no code away.
create table passcodes (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  purpose text not null check (purpose in ('registration', 'password_reset', 'sign_in', 'second_step')),
  email text not null,
  email_key text not null,
  -- The account that the address belonged to; null for an address without one.
  user_id uuid,
  initiated_by text not null default 'user' check (initiated_by in ('user', 'admin')),
  code_digest bytea not null,
  -- Codes that a later one replaced: known as such, and never right.
  superseded_digests bytea[] not null default '{}',
  -- The secret in the mail's link: 256 random bits, so tries need no count.
  link_digest bytea,
  -- Tries at the present code, and at all codes of this row.
  attempt_count integer not null default 0,
  attempt_total integer not null default 0,
  sent_count integer not null default 1,
  sent_at timestamptz not null,
  expires_at timestamptz not null,
  consumed_at timestamptz,
  -- What a proven registration goes on with.
  token_digest bytea,
  token_expires_at timestamptz,
  completed_at timestamptz,
  -- While half of an environment's budget of wrong codes is used, new codes are longer: they can't be guessed, so they need no budget, and strangers
  -- who use it up keep nobody out.
  code_length smallint not null default 6,
  -- What the code is good for alone: the browser that asked for it (`sign_in`), or the sign-in (`second_step`).
  bound_digest bytea,
  created_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);

-- Wrong six-digit codes of an environment in the present hour, whoever enters them for whatever address: a million codes can't be tried
-- by asking for one code after the other. A guess is counted before it is looked at, and given back when it was right.
create table passcode_budgets (
  environment_id uuid primary key references environments (id) on delete cascade,
  window_started_at timestamptz not null,
  guess_count integer not null,
  -- When operators were told that half of it is used; once a window.
  half_noted_at timestamptz
);

create unique index users_email on users (environment_id, email_key);
create unique index users_external_id on users (environment_id, external_id) where external_id is not null;
-- Every sort order and filter of the user lists answers from an index; the id makes each order total.
create index users_created_at on users (environment_id, created_at, id);
create index users_updated_at on users (environment_id, updated_at, id);
create index users_email_order on users (environment_id, email_key, id);
create index users_last_name on users (environment_id, (coalesce(lower(last_name), '')), id);
create index users_last_login_at on users (environment_id, (coalesce(last_login_at, '-infinity'::timestamptz)), id);
create index users_two_step on users (environment_id, created_at, id) where two_step_enabled;
-- Blocked users and those whose address was never proven are few among all: each index has what their lists are sorted and narrowed by, so that all of them are
-- read from it, and sorted, before the page's own rows are.
create index users_blocked_sorted on users (environment_id, created_at, id)
  include (updated_at, email_key, last_name, last_login_at, email_verified) where status = 'blocked';
create index users_unverified_sorted on users (environment_id, created_at, id)
  include (updated_at, email_key, last_name, last_login_at, status) where not email_verified;
-- A search looks for what an address or a name begins with (LIKE 'prefix%' needs pattern_ops). These have what lists are sorted by, so that all that was found is
-- read from them, and sorted, before the page's own rows are.
create index users_email_search on users (environment_id, email_key text_pattern_ops)
  include (id, created_at, updated_at, first_name, last_name, last_login_at);
create index users_first_name_search on users (environment_id, lower(first_name) text_pattern_ops)
  include (id, created_at, updated_at, email_key, first_name, last_name, last_login_at);
create index users_last_name_search on users (environment_id, lower(last_name) text_pattern_ops)
  include (id, created_at, updated_at, email_key, first_name, last_name, last_login_at);

-- What a check of an imported password hash costs, in KiB times passes of argon2 (bcrypt of cost 10 is three hashes of ours): a refused sign-in is held back
-- until the dearest of the environment would have been checked. Null for our own kind and for what can't be read; rows leave the index as people sign in.
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

create index passcodes_email on passcodes (environment_id, purpose, email_key, created_at);
create index passcodes_user on passcodes (environment_id, user_id) where user_id is not null;
create unique index passcodes_token on passcodes (environment_id, token_digest) where token_digest is not null;
create index passcodes_created_at on passcodes (created_at);

-- Whether a token's person still stands, as session_revoked_at says of its session. Functions, for the reason that permissions_held has; and a client's own
-- token has neither, so that its look-up goes on while the tables of people are locked.
create function user_status(in_environment uuid, of_user uuid) returns text
language plpgsql stable as $$
begin
  return (select u.status from users u where u.environment_id = in_environment and u.id = of_user);
end $$;
