-- Device authorization (RFC 8628). `digest` is of the code that the device holds, `user_code_digest` of the one that the person types, keyed
-- because it is short. One update answers a row, one spends it.
create table device_codes (
  environment_id uuid not null references environments (id) on delete cascade,
  digest bytea not null,
  user_code_digest bytea not null,
  client_id text not null,
  scope text not null,
  resource text,
  -- Of the device that asks.
  ip_address text,
  user_agent text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- Seconds that the device has to wait between two questions; every one that comes too soon adds to them.
  interval_seconds integer not null,
  polled_at timestamptz,
  polled_too_soon boolean not null default false,
  answered_at timestamptz,
  -- The answer; null until there is one.
  approved boolean,
  grant_id uuid,
  user_id uuid,
  -- The device's own session.
  session_id uuid,
  auth_time timestamptz,
  acr text,
  amr text[],
  used_at timestamptz,
  primary key (environment_id, digest)
) with (fillfactor = 80);
create unique index device_codes_user_code on device_codes (environment_id, user_code_digest);
create index device_codes_expires_at on device_codes (expires_at);
create index device_codes_user on device_codes (environment_id, user_id) where user_id is not null;

-- When somebody typed a user code, by session and by address; what was right is taken out again.
create table user_code_guesses (
  environment_id uuid not null references environments (id) on delete cascade,
  guesser_digest bytea not null,
  guessed_at timestamptz[] not null,
  expires_at timestamptz not null,
  primary key (environment_id, guesser_digest)
);
create index user_code_guesses_expires_at on user_code_guesses (expires_at);

-- The client whose device the session is; null for a browser's. Nothing outlives a device's session.
alter table sessions add column device_client_id text;
