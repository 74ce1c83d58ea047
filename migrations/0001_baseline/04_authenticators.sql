-- What people sign in with beside a password, and the browsers that skip the second step.

-- What people sign in with beside a password: passkeys (WebAuthn), apps that show codes (TOTP), recovery codes. The secret of a TOTP, and the
-- key of a set's digests, are sealed for `authenticators/<id>`; a public key is no secret.
create table authenticators (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  user_id uuid not null,
  kind text not null check (kind in ('passkey', 'totp', 'recovery_codes')),
  name text not null,
  -- Pending: a TOTP whose first code has not come yet; it ends at `expires_at`.
  status text not null default 'active' check (status in ('pending', 'active')),
  expires_at timestamptz,
  -- Both in base64url: neither is a secret.
  credential_id text,
  public_key text,
  rp_id text,
  -- What the authenticator calls the user: null where it was imported and another system chose it.
  user_handle text,
  sign_count bigint,
  aaguid uuid,
  transports text[],
  backup_eligible boolean,
  backed_up boolean,
  -- Whether the authenticator finds it without being told which: only such a passkey is a first step.
  discoverable boolean,
  secret_sealed bytea,
  algorithm text check (algorithm in ('SHA1', 'SHA256', 'SHA512')),
  digits smallint check (digits in (6, 8)),
  period smallint check (period between 15 and 60),
  -- The time step of the last code that was taken; it only grows (RFC 6238 5.2).
  last_step bigint,
  last_used_at timestamptz,
  -- How many codes of a set are not spent: on the set, and on the row of its user, which every list of users reads anyway.
  codes_left smallint,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade,
  check ((status = 'pending') = (expires_at is not null)),
  check (kind <> 'passkey' or num_nulls(credential_id, public_key, rp_id, sign_count, transports, backup_eligible, backed_up, discoverable) = 0),
  check (kind <> 'totp' or num_nulls(secret_sealed, algorithm, digits, period) = 0),
  check (kind <> 'recovery_codes' or secret_sealed is not null)
);

-- The codes of a set, as digests under the set's own key. A spent one stays, so that the owner sees how many are left.
create table recovery_codes (
  environment_id uuid not null,
  authenticator_id uuid not null,
  code_digest bytea not null,
  used_at timestamptz,
  primary key (environment_id, authenticator_id, code_digest),
  foreign key (environment_id, authenticator_id) references authenticators (environment_id, id) on delete cascade
);

-- A WebAuthn challenge is no row until it is used: this one says that it can't be used again.
create table spent_challenges (
  environment_id uuid not null references environments (id) on delete cascade,
  nonce_digest bytea not null,
  expires_at timestamptz not null,
  primary key (environment_id, nonce_digest)
);

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

create unique index authenticators_credential on authenticators (environment_id, credential_id) where credential_id is not null;
create unique index authenticators_recovery_codes on authenticators (environment_id, user_id) where kind = 'recovery_codes';
create index authenticators_user on authenticators (environment_id, user_id);
create index authenticators_created_at on authenticators (environment_id, created_at, id);
create index authenticators_expires_at on authenticators (expires_at) where expires_at is not null;
-- For the lists of the Management API.
create index authenticators_updated_at on authenticators (environment_id, updated_at, id);
create index authenticators_last_used_at on authenticators (environment_id, (coalesce(last_used_at, '-infinity'::timestamptz)), id);
create index authenticators_kind on authenticators (environment_id, kind, created_at, id);
create index authenticators_pending on authenticators (environment_id, created_at, id) where status = 'pending';
create index authenticators_owners on authenticators (environment_id, kind, user_id) where status = 'active';

create index spent_challenges_expires_at on spent_challenges (expires_at);

create unique index devices_browser on devices (environment_id, browser_digest);
create index devices_user on devices (environment_id, user_id);
create index devices_expires_at on devices (expires_at);

create function note_authenticator_kinds() returns trigger language plpgsql as $$
declare
  owner record := case when tg_op = 'DELETE' then old else new end;
begin
  -- Held first: the lists below are then read after whatever another transaction changed of them.
  perform 1 from users where environment_id = owner.environment_id and id = owner.user_id for update;
  update users set
    authenticator_kinds = coalesce((
      select array_agg(distinct a.kind order by a.kind) from authenticators a
      where a.environment_id = owner.environment_id and a.user_id = owner.user_id and a.status = 'active'), '{}'),
    recovery_codes_left = coalesce((
      select a.codes_left from authenticators a
      where a.environment_id = owner.environment_id and a.user_id = owner.user_id and a.kind = 'recovery_codes'), 0)
  where environment_id = owner.environment_id and id = owner.user_id;
  return null;
end
$$;

create trigger authenticators_kinds after insert or delete or update of status, codes_left on authenticators
  for each row execute function note_authenticator_kinds();
