create table users (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  email text not null,
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
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);
create unique index users_email on users (environment_id, email_key);
create unique index users_external_id on users (environment_id, external_id) where external_id is not null;
create index users_created_at on users (environment_id, created_at, id);

create table sessions (
  environment_id uuid not null,
  id uuid not null,
  token_digest bytea not null,
  user_id uuid not null,
  ip_address text,
  user_agent text,
  amr text[] not null default '{}',
  acr text,
  authenticated_at timestamptz not null,
  last_activity_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  revoke_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null default 1,
  primary key (environment_id, id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);
create unique index sessions_token on sessions (environment_id, token_digest);
create index sessions_user on sessions (environment_id, user_id, created_at);
create index sessions_created_at on sessions (environment_id, created_at, id);
create index sessions_expires_at on sessions (expires_at);
