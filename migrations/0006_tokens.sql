-- Codes and opaque tokens are found by the SHA-256 digest of their value: it is the key, with no second id beside it.
-- grant_id names what one authorization gave out (code, access tokens, refresh tokens): revoking it ends all of them.
create table authorization_codes (
  environment_id uuid not null,
  digest bytea not null,
  grant_id uuid not null,
  client_id text not null,
  user_id uuid not null,
  session_id uuid not null,
  redirect_uri text not null,
  scope text not null,
  resource text,
  access_token_format text not null,
  access_token_lifetime integer not null,
  nonce text,
  code_challenge text,
  claims jsonb,
  auth_time timestamptz not null,
  auth_time_requested boolean not null default false,
  acr text,
  amr text[] not null default '{}',
  expires_at timestamptz not null,
  redeemed_at timestamptz,
  primary key (environment_id, digest),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade,
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade
);
create index authorization_codes_expires_at on authorization_codes (expires_at);

create table access_tokens (
  environment_id uuid not null,
  digest bytea not null,
  jti uuid not null,
  grant_id uuid,
  client_id text not null,
  user_id uuid,
  session_id uuid,
  scope text not null,
  audience text not null,
  claims jsonb,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (environment_id, digest)
);
create index access_tokens_grant on access_tokens (environment_id, grant_id) where grant_id is not null;
create index access_tokens_expires_at on access_tokens (expires_at);

create table refresh_tokens (
  environment_id uuid not null,
  digest bytea not null,
  grant_id uuid not null,
  client_id text not null,
  user_id uuid not null,
  session_id uuid not null,
  scope text not null,
  resource text,
  claims jsonb,
  auth_time timestamptz not null,
  acr text,
  amr text[] not null default '{}',
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  grant_expires_at timestamptz not null,
  rotated_at timestamptz,
  primary key (environment_id, digest),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade,
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade
);
create index refresh_tokens_grant on refresh_tokens (environment_id, grant_id);
create index refresh_tokens_session on refresh_tokens (environment_id, session_id);
create index refresh_tokens_user_client on refresh_tokens (environment_id, user_id, client_id);
create index refresh_tokens_expires_at on refresh_tokens (expires_at);

-- A JWT can't be deleted: its jti, or the grant it came from, is listed here until the last such token has expired.
create table revocations (
  environment_id uuid not null,
  id uuid not null,
  expires_at timestamptz not null,
  primary key (environment_id, id)
);
create index revocations_expires_at on revocations (expires_at);
create index access_tokens_user on access_tokens (environment_id, user_id) where user_id is not null;
create index authorization_codes_user on authorization_codes (environment_id, user_id);
