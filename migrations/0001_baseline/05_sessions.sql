-- Sessions, half sign-ins, and wrong passwords by browser.

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
  -- When somebody signed in here and when they proved who they are can be two moments: a provider may go by an older sign-in of its own,
  -- or not say when that was. What it says of the manner stays apart from what we have seen ourselves.
  signed_in_at timestamptz not null default now(),
  auth_time_known boolean not null default true,
  provider_amr text[],
  provider_acr text,
  -- What a session rests on: [{method, authenticator_id, at}]. Empty: of the lowest class, whatever a provider said.
  proofs jsonb not null default '[]',
  -- The client whose device the session is; null for a browser's. Nothing outlives a device's session (RFC 8628).
  device_client_id text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null default 1,
  primary key (environment_id, id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);

-- Somebody half signed in: the first step is proven, another is due. It opens nothing. Gone once it is complete, which one request is.
create table sign_ins (
  environment_id uuid not null,
  id uuid not null,
  -- Of the value of this browser's cookie.
  token_digest bytea not null,
  user_id uuid not null,
  -- What is due: a factor that the person has, or one that the policy wants enrolled.
  stage text not null check (stage in ('verify', 'enroll')),
  -- What was proven so far, as `sessions.proofs`.
  proofs jsonb not null,
  -- The hash of the password that was proven: changed meanwhile, it signs nobody in.
  proven_hash text,
  -- What a provider says of the sign-in there.
  provider jsonb,
  -- The account at a provider that becomes the user's once the sign-in is complete, sealed.
  linking_sealed bytea,
  attempt_count integer not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);

-- Wrong passwords from browsers that have signed in to the account before. These alone lock such a browser, until `locked_until`: those of
-- strangers, who lock the account, don't concern it.
create table browser_lockouts (
  environment_id uuid not null references environments (id) on delete cascade,
  -- Of the random id in the browser's cookie and the account.
  browser_digest bytea not null,
  failed_login_count integer not null,
  locked_until timestamptz,
  expires_at timestamptz not null,
  primary key (environment_id, browser_digest)
);

-- Every sort order and filter of the session lists answers from an index; the id makes each order total.
create unique index sessions_token on sessions (environment_id, token_digest);
create index sessions_user on sessions (environment_id, user_id, created_at);
create index sessions_created_at on sessions (environment_id, created_at, id);
create index sessions_expires_at on sessions (expires_at);
create index sessions_updated_at on sessions (environment_id, updated_at, id);
create index sessions_last_activity_at on sessions (environment_id, last_activity_at, id);
create index sessions_ip_address on sessions (environment_id, ip_address, created_at, id);
-- Sessions that were ended by hand are few among all.
create index sessions_revoked on sessions (environment_id, created_at, id) where revoked_at is not null;
-- Sessions are listed by status in any order: see `sessionsOfStatus` of src/db/tables/session_lists.ts. How long a session may last at most tells that none of the
-- younger ones has run out; few were renewed by another sign-in, and the others run out by their age.
create index sessions_lifetime on sessions (environment_id, (expires_at - created_at));
create index sessions_renewed on sessions (environment_id, created_at, id) where signed_in_at > created_at;
-- The sessions of a client's devices end with it; those of browsers have no entry.
create index sessions_device_client on sessions (environment_id, device_client_id) where device_client_id is not null;

create unique index sign_ins_token on sign_ins (environment_id, token_digest);
create index sign_ins_user on sign_ins (environment_id, user_id);
create index sign_ins_expires_at on sign_ins (expires_at);

create index browser_lockouts_expires_at on browser_lockouts (expires_at);

-- See user_status (03_users.sql).
create function session_revoked_at(in_environment uuid, of_session uuid) returns timestamptz
language plpgsql stable as $$
begin
  return (select s.revoked_at from sessions s where s.environment_id = in_environment and s.id = of_session);
end $$;
