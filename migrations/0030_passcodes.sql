-- A passcode that was mailed to somebody: to register an address, or to set a new password. The id is what the person's
-- browser holds; the code is kept as a digest under the service's key, so that a copy of this table gives no code away.
create table passcodes (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  purpose text not null check (purpose in ('registration', 'password_reset')),
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
  created_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);
create index passcodes_email on passcodes (environment_id, purpose, email_key, created_at);
create index passcodes_user on passcodes (environment_id, user_id) where user_id is not null;
create unique index passcodes_token on passcodes (environment_id, token_digest) where token_digest is not null;
create index passcodes_created_at on passcodes (created_at);
