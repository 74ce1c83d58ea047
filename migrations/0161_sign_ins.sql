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
create unique index sign_ins_token on sign_ins (environment_id, token_digest);
create index sign_ins_user on sign_ins (environment_id, user_id);
create index sign_ins_expires_at on sign_ins (expires_at);

-- Browsers that skip the second step of a user, by a digest of the browser's id and the user.
create table devices (
  environment_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  browser_digest bytea not null,
  ip_address text,
  user_agent text,
  last_used_at timestamptz not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);
create unique index devices_browser on devices (environment_id, browser_digest);
create index devices_user on devices (environment_id, user_id);
create index devices_expires_at on devices (expires_at);

-- Second steps of a user that were tried since the last right one, whatever the method, the sign-in and the process. A try is counted before
-- it is looked at. No row: none.
create table second_step_tries (
  environment_id uuid not null,
  user_id uuid not null,
  -- Since the last lock, and since the last success.
  try_count integer not null,
  total_count integer not null,
  locked_until timestamptz,
  primary key (environment_id, user_id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);

-- Codes by mail: as the first step of a sign-in, and as the second. The first kind belongs to the browser that asked for it, the second to a sign-in.
alter table passcodes drop constraint passcodes_purpose_check;
alter table passcodes add constraint passcodes_purpose_check check (purpose in ('registration', 'password_reset', 'sign_in', 'second_step'));
alter table passcodes add column bound_digest bytea;
