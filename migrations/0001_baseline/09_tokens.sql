-- Codes and tokens. They have no keys to users and clients: each code and token would lock the row of its client and user, and no look-up needs them, because each
-- asks for the user, the session and the client as they are now. Rows go when they expire; a deleted user's rows go with the user.

-- Codes and opaque tokens are found by the SHA-256 digest of their value: it is the key, with no second id beside it.
-- grant_id names what one authorization gave out (code, access tokens, refresh tokens): revoking it ends all of them.
-- Spending a code and rotating a token change one column without an index: with room on the page that touches no index at all (fillfactor).
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
  -- Null of a sign-in through a provider that doesn't say when it was: tokens then have no auth_time.
  auth_time timestamptz,
  auth_time_requested boolean not null default false,
  acr text,
  amr text[] not null default '{}',
  expires_at timestamptz not null,
  redeemed_at timestamptz,
  -- The names of the claims that the `claims` parameter asked for in the ID token (OIDC Core 5.5); `claims` holds those for userinfo.
  id_token_claims text[],
  -- DPoP (RFC 9449): codes, access tokens, and refresh tokens of public clients can be bound to a key; its thumbprint (RFC 7638) stands beside them.
  dpop_jkt text,
  -- The request that issued the code: a refusal at the token endpoint is told together with it.
  request_id text,
  primary key (environment_id, digest)
) with (fillfactor = 80);

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
  -- How and when the person of an opaque access token signed in, for introspection (RFC 9470 6.2). Null: a client's own token.
  acr text,
  amr text[],
  auth_time timestamptz,
  jkt text,
  -- Who acts for the person of an opaque token (RFC 8693 4.1), and whether the token was exchanged for another at all.
  exchanged boolean not null default false,
  act jsonb,
  -- What an exchanged opaque token goes back to: the scope that it had at other API resources, by their identifiers, beyond which no exchange back goes.
  earlier_scopes jsonb,
  primary key (environment_id, digest)
);

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
  auth_time timestamptz,
  acr text,
  amr text[] not null default '{}',
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  grant_expires_at timestamptz not null,
  rotated_at timestamptz,
  id_token_claims text[],
  jkt text,
  primary key (environment_id, digest)
) with (fillfactor = 85);

-- A JWT can't be deleted: its jti, or the grant it came from, is listed here until the last such token has expired.
create table revocations (
  environment_id uuid not null,
  id uuid not null,
  expires_at timestamptz not null,
  primary key (environment_id, id)
);

-- Authorization requests that clients pushed (RFC 9126). The digest is of the reference that they got. A row outlives its 60 s by the time that a sign-in may take.
create table pushed_requests (
  environment_id uuid not null references environments (id) on delete cascade,
  digest bytea not null,
  client_id text not null,
  parameters jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  primary key (environment_id, digest)
);

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
  -- The request by which a device began: a refusal at the token endpoint is told from there on.
  request_id text,
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

-- When somebody typed a user code, by session and by address; what was right is taken out again.
create table user_code_guesses (
  environment_id uuid not null references environments (id) on delete cascade,
  guesser_digest bytea not null,
  guessed_at timestamptz[] not null,
  expires_at timestamptz not null,
  primary key (environment_id, guesser_digest)
);

-- Proofs that were used: each is good for one request, and forgotten once it is too old for any. A crash empties the table: what it forgets then is
-- a proof of the last minutes, which is of use to nobody without the token or code that it came with.
create unlogged table dpop_proofs (
  environment_id uuid not null,
  digest bytea not null,
  expires_at timestamptz not null,
  primary key (environment_id, digest)
);

create index authorization_codes_expires_at on authorization_codes (expires_at);
-- An index that begins with the environment looks usable for every statement. Before a table's first statistics it looks as cheap as the primary key, and a plan
-- that was made then walks all codes of the environment for each one that is redeemed. These begin with what they are for, so that only the primary key fits a
-- look-up by digest.
create index authorization_codes_user on authorization_codes (user_id, environment_id);

create index access_tokens_expires_at on access_tokens (expires_at);
create index access_tokens_user on access_tokens (user_id, environment_id) where user_id is not null;

create index refresh_tokens_expires_at on refresh_tokens (expires_at);
create index refresh_tokens_user_client on refresh_tokens (user_id, client_id, environment_id);

create index revocations_expires_at on revocations (expires_at);

create index pushed_requests_expires_at on pushed_requests (expires_at);

create unique index device_codes_user_code on device_codes (environment_id, user_code_digest);
create index device_codes_expires_at on device_codes (expires_at);
create index device_codes_user on device_codes (environment_id, user_id) where user_id is not null;

create index user_code_guesses_expires_at on user_code_guesses (expires_at);

create index dpop_proofs_expires_at on dpop_proofs (expires_at);
