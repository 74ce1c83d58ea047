-- Exports of users: who may fetch which of them until when. Nothing is copied: the file is written as it is fetched.
-- phase: expand
-- locks: environments share row exclusive
create table user_exports (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  include_password_hashes boolean not null,
  expires_at timestamptz not null,
  taken_at timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);
create index user_exports_created_at on user_exports (environment_id, created_at, id);
